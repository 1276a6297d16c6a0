//! What a process with a very low limit of open files uses. In a test binary of its own, because
//! the limit is that of the whole process.

use engine::{EngineChoice, Kind, decide};
use rustix::process::{Resource, Rlimit, setrlimit};

#[test]
fn with_too_few_descriptors_for_a_ring_epoll_is_used_and_the_reason_is_said() {
    let few = Rlimit {
        current: Some(64),
        maximum: Some(64),
    };
    setrlimit(Resource::Nofile, few).expect("a limit can be lowered");
    let (kind, why) = decide(EngineChoice::Auto).expect("epoll needs few");
    assert_eq!(kind, Kind::Epoll, "{why}");
    assert!(decide(EngineChoice::Uring).is_err());
}
