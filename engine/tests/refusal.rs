//! What happens where a sandbox forbids io_uring, as that of containers does: a seccomp(2) filter
//! that answers io_uring_setup(2) with an error.

use engine::choice::{self, EngineChoice, Kind};
use engine::{Config, epoll, probe, uring};

/// One process, one decision: so all is asked by one test, on a thread that is filtered.
#[test]
fn where_a_filter_forbids_io_uring_epoll_is_chosen_and_the_filter_is_named() {
    let asked = std::thread::spawn(|| {
        forbid_io_uring(libc::EPERM);
        let (kind, reason) = choice::decide(EngineChoice::Auto).expect("a driver");
        assert_eq!(kind, Kind::Epoll);
        let named = reason.contains("seccomp") || reason.contains("kernel.io_uring_disabled");
        assert!(named, "{reason}");
        let error = choice::decide(EngineChoice::Uring).expect_err("it was asked for");
        assert!(reason.contains(&error.what), "{reason} / {error}");
        assert!(uring::open(&Config::default()).is_err());
        assert!(
            epoll::open(&Config::default()).is_ok(),
            "the other driver is not concerned"
        );
        assert_eq!(probe::uring(), Err(error));
    });
    asked.join().expect("all was as it should be");
}

#[test]
fn where_the_kernel_has_no_io_uring_that_is_said() {
    let asked = std::thread::spawn(|| {
        forbid_io_uring(libc::ENOSYS);
        let Err(error) = uring::open(&Config::default()) else {
            panic!("the filter does not work");
        };
        assert!(error.what.contains("doesn't have io_uring"), "{error}");
    });
    asked.join().expect("all was as it should be");
}

/// Filters this thread for the rest of its life (seccomp(2), bpf of `linux/filter.h`).
fn forbid_io_uring(errno: i32) {
    let instruction = |code: u32, jump_true, jump_false, value| libc::sock_filter {
        code: code as u16,
        jt: jump_true,
        jf: jump_false,
        k: value,
    };
    // The number of the call is the first word of `struct seccomp_data`.
    let mut filter = [
        instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        instruction(
            libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
            0,
            1,
            libc::SYS_io_uring_setup as u32,
        ),
        instruction(
            libc::BPF_RET | libc::BPF_K,
            0,
            0,
            libc::SECCOMP_RET_ERRNO | errno as u32,
        ),
        instruction(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog {
        len: filter.len() as u16,
        filter: filter.as_mut_ptr(),
    };
    // SAFETY: both calls only concern this thread; `filter` and `program` live through them.
    let result = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
            | libc::syscall(
                libc::SYS_seccomp,
                libc::SECCOMP_SET_MODE_FILTER,
                0,
                &raw const program,
            ) as i32
    };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
}
