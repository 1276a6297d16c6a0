//! Starts that fail say why, and what to do.

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Barrier;
use std::thread::{self, ScopedJoinHandle};

use engine::{Address, choice::EngineChoice, signal::Stop};
use testserver::{Config, StartError};

use crate::client::{config, each_engine};

fn refused(config: &Config) -> StartError {
    match testserver::start(config.clone(), &Stop::new()) {
        Ok(_) => panic!("it started"),
        Err(error) => error,
    }
}

#[test]
fn a_port_that_is_taken_is_named_with_the_way_to_see_who_holds_it() {
    each_engine(|engine| {
        let holder = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = holder.local_addr().expect("an address");
        for threads in [1, 2] {
            let mut config = config(engine);
            config.address = Address::Tcp(address);
            config.threads = threads;
            let error = refused(&config);
            assert_eq!(error, StartError::Taken(Address::Tcp(address)));
            let text = error.to_string();
            assert!(
                text.contains(&format!("ss -ltnp 'sport = :{}'", address.port())),
                "{text}"
            );
        }
    });
}

#[test]
fn a_server_with_several_workers_does_not_join_another_one() {
    each_engine(|engine| {
        let mut config = config(engine);
        config.threads = 2;
        let first = testserver::start(config.clone(), &Stop::new()).expect("the first starts");
        config.address = first.address().clone();
        assert_eq!(refused(&config), StartError::Taken(config.address.clone()));
        first.stop();
        first.join().expect("the first ends well");
    });
}

#[test]
fn of_servers_that_start_at_once_only_one_gets_the_port() {
    for _ in 0..20 {
        let holder = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = holder.local_addr().expect("an address");
        drop(holder);
        let mut config = config(EngineChoice::Epoll);
        config.address = Address::Tcp(address);
        config.threads = 2;
        let (config, together) = (&config, &Barrier::new(4));
        let started: Vec<_> = thread::scope(|scope| {
            let begin = move || {
                together.wait();
                testserver::start(config.clone(), &Stop::new())
            };
            let starting: Vec<_> = (0..4).map(|_| scope.spawn(begin)).collect();
            let join = |one: ScopedJoinHandle<'_, _>| one.join().expect("it tells");
            starting.into_iter().map(join).collect()
        });
        let (running, refused): (Vec<_>, Vec<_>) = started.into_iter().partition(Result::is_ok);
        assert_eq!(running.len(), 1);
        for error in refused.into_iter().filter_map(Result::err) {
            assert_eq!(error, StartError::Taken(config.address.clone()));
        }
        for server in running.into_iter().flatten() {
            server.stop();
            server.join().expect("it ends well");
        }
    }
}

#[test]
fn an_address_of_another_host_is_refused() {
    each_engine(|engine| {
        // TEST-NET-1 (RFC 5737) belongs to nobody.
        let address = Address::Tcp(SocketAddr::from(([192, 0, 2, 1], 0)));
        for threads in [1, 2] {
            let mut config = config(engine);
            config.address = address.clone();
            config.threads = threads;
            let error = refused(&config);
            assert_eq!(error, StartError::NotLocal(address.clone()));
            assert!(error.to_string().contains("ip address"), "{error}");
        }
    });
}

#[test]
fn a_processor_that_is_not_there_is_named() {
    each_engine(|engine| {
        let mut config = config(engine);
        config.cpus = vec![1000];
        let error = refused(&config);
        assert!(matches!(error, StartError::Cpu(_)), "{error:?}");
        assert!(error.to_string().contains("1000"), "{error}");
    });
}

#[test]
fn unix_sockets_say_what_is_wrong_with_them() {
    each_engine(|engine| {
        let mut config = config(engine);
        config.address = Address::Unix(PathBuf::from("/nonexistent/directory/socket"));
        let error = refused(&config);
        assert!(matches!(error, StartError::NoDirectory(_)), "{error:?}");
        config.threads = 2;
        assert_eq!(refused(&config), StartError::UnixThreads(2));

        let file = tempfile::NamedTempFile::new().expect("a file");
        let path = file.path().to_path_buf();
        config.address = Address::Unix(path.clone());
        config.threads = 1;
        let error = refused(&config);
        assert_eq!(error, StartError::Taken(Address::Unix(path.clone())));
        assert!(path.exists(), "what is not ours is not removed");
    });
}

#[test]
fn no_threads_are_refused() {
    let mut config = config(EngineChoice::Epoll);
    config.threads = 0;
    assert_eq!(refused(&config), StartError::NoThreads);
}

#[test]
fn a_privileged_port_says_so() {
    let address = Address::Tcp(SocketAddr::from(([127, 0, 0, 1], 80)));
    let text = StartError::NotPermitted(address).to_string();
    assert!(
        text.contains("port 80") && text.contains("ip_unprivileged_port_start=80"),
        "{text}"
    );
}
