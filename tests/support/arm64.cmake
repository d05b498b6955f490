# SPDX-License-Identifier: MIT
# Builds profd for arm64 on another machine, with what tests/support/arm64-root unpacked: cmake
# -DCMAKE_TOOLCHAIN_FILE=tests/support/arm64.cmake -DARM64_ROOT=FOLDER
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ARM64_ROOT)
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER clang) # gcc's packages for it are in conflict with gcc-multilib
set(CMAKE_C_COMPILER_TARGET aarch64-linux-gnu)
set(CMAKE_EXE_LINKER_FLAGS_INIT -fuse-ld=lld)
set(CMAKE_SHARED_LINKER_FLAGS_INIT -fuse-ld=lld)
set(CMAKE_SYSROOT ${ARM64_ROOT})
set(CMAKE_FIND_ROOT_PATH ${ARM64_ROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${ARM64_ROOT})
set(ENV{PKG_CONFIG_LIBDIR}
  ${ARM64_ROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${ARM64_ROOT}/usr/share/pkgconfig)
