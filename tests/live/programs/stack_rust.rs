// SPDX-License-Identifier: MIT
//! leaf < middle < outer < stack_rust::main < std's start < main.
use std::io::Write;
use std::ptr;

static mut SINK: u64 = 0;

fn add(n: u64) {
    unsafe {
        let sink = ptr::addr_of_mut!(SINK);
        ptr::write_volatile(sink, ptr::read_volatile(sink).wrapping_add(n));
    }
}

#[no_mangle]
#[inline(never)]
pub extern "C" fn leaf() {
    for i in 0..50000 {
        add(i);
    }
}

#[no_mangle]
#[inline(never)]
pub extern "C" fn middle() {
    leaf();
    add(1);
}

#[no_mangle]
#[inline(never)]
pub extern "C" fn outer() {
    middle();
    add(1);
}

fn main() {
    println!("ready");
    std::io::stdout().flush().unwrap();
    loop {
        outer();
    }
}
