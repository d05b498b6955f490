// SPDX-License-Identifier: MIT
//! Generic functions, traits and closures of Rust, whose names say so.
use std::collections::BTreeMap;
use std::ptr;

static mut SINK: u64 = 0;

fn add(n: u64) {
    unsafe {
        let sink = ptr::addr_of_mut!(SINK);
        ptr::write_volatile(sink, ptr::read_volatile(sink).wrapping_add(n));
    }
}

mod shapes {
    pub trait Area {
        fn area(&self) -> u64;
    }

    pub struct Square<T>(pub T);

    impl<T: Copy + Into<u64>> Area for Square<T> {
        #[inline(never)]
        fn area(&self) -> u64 {
            let mut sum = 0u64;
            for i in 0..500u64 {
                sum = sum.rotate_left(3) ^ (i * self.0.into());
            }
            sum
        }
    }

    #[inline(never)]
    pub fn total(all: &[Box<dyn Area>]) -> u64 {
        all.iter().map(|a| a.area()).fold(0, |a, b| a.wrapping_add(b))
    }
}

#[inline(never)]
fn sort_by<K: Ord, F: Fn(&u64) -> K>(numbers: &mut Vec<u64>, key: F) {
    numbers.sort_by(|a, b| key(a).cmp(&key(b)));
}

#[inline(never)]
fn count(numbers: &[u64]) -> usize {
    let mut map: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for n in numbers {
        map.entry(format!("{}", n % 17)).or_default().push(*n);
    }
    map.len()
}

fn main() {
    let shapes: Vec<Box<dyn shapes::Area>> = vec![
        Box::new(shapes::Square(7u32)),
        Box::new(shapes::Square(9u8)),
    ];
    loop {
        let mut numbers: Vec<u64> = (0..500).map(|i| i * 7919 % 997).collect();
        sort_by(&mut numbers, |n| (n % 10, *n));
        add(count(&numbers) as u64 + shapes::total(&shapes));
    }
}
