//! One suite for every driver: what `engine::driver` promises, checked on io_uring, on epoll and
//! in the simulator with the same code, and on each of them again behind TLS.
//!
//! A driver listens and connects to itself, so a case needs no peer. Cases are listed once, below;
//! each becomes one test for each driver. Where this machine refuses io_uring, its tests are
//! skipped, which is said aloud and counted; with `CI=true` a skip is a failure.
#![allow(unreachable_pub)] // A test binary exports nothing; `pub` is enough between its files.

mod bench;
mod bytes;
mod connecting;
mod dozing;
mod ending;
mod outside;
#[path = "../../../tests/skip.rs"]
mod skip;
mod waiting;

use std::sync::OnceLock;

use engine::{Config, Driver, epoll, sim, uring};
use tls::{Certificate, ClientSettings, ClientTls, ServerSettings, ServerTls, Tls, Trust};

/// Places of each ring where several share the sockets of a case.
const EACH_RING: usize = 100;

fn open_epoll(config: &Config) -> epoll::Epoll {
    epoll::open(config).expect("every Linux has epoll")
}

/// A network of its own for each driver. The seed is fixed: it is the cases that vary.
fn open_simulator(config: &Config) -> sim::Sim {
    sim::Network::new(1, sim::Faults::none()).driver(config)
}

/// Nothing may depend on when and in which pieces bytes arrive.
fn open_rough_simulator(config: &Config) -> sim::Sim {
    sim::Network::new(2, sim::Faults::rough()).driver(config)
}

/// Both ends in one driver, each with its role.
fn secured<D: Driver>(driver: D) -> Tls<D> {
    static SETTINGS: OnceLock<(ClientTls, ServerTls)> = OnceLock::new();
    let (client, server) = SETTINGS.get_or_init(|| {
        let names = vec!["localhost".to_owned()];
        let server = ServerSettings {
            certificate: Certificate::SelfSigned { names },
            alpn: Vec::new(),
            resumption: true,
            client_authorities: None,
        };
        let client = ClientSettings {
            server_name: "localhost".to_owned(),
            alpn: Vec::new(),
            trust: Trust::Anybody,
            identity: None,
            resumption: true,
        };
        (
            client.build().expect("it asks for nothing"),
            server.build().expect("it asks for nothing"),
        )
    });
    Tls::both(driver, client.separate(), server.clone())
}

/// Makes each case a test under the name of the driver that `$run` gives it.
macro_rules! tests {
    ($run:ident: $($module:ident: $($case:ident,)*;)*) => {
        $($(
            #[test]
            fn $case() {
                super::$run!(super::$module::$case);
            }
        )*)*
    };
}

/// Cases that hold for every driver.
macro_rules! every_driver {
    ($run:ident) => {
        tests! { $run:
            connecting:
                connects_accepts_and_echoes,
                an_accepted_connection_names_its_listener,
                a_connect_where_nobody_listens_is_refused,
                unix_sockets_work_like_tcp,
                a_unix_path_without_listener_fails,
                unix_connects_beyond_the_backlog_stand_in_the_end,
                a_connection_leaves_from_its_source_address,
                a_connection_goes_over_the_device_that_was_asked_for,
                a_closed_listener_takes_no_more_and_its_connections_live_on,
                only_listeners_have_an_address,
                a_taken_address_is_refused_unless_shared,
                the_table_of_sockets_is_bounded,
                a_listener_that_is_asked_says_where_each_peer_is,
                without_being_asked_nobody_says_where_peers_are,
                peers_of_unix_listeners_have_no_address,
                a_listener_that_is_asked_takes_no_more_than_there_are_slots,
            ;
            bytes:
                buffers_of_any_size_arrive_whole_and_in_order,
                templates_of_any_size_and_parts_of_them_arrive,
                quiet_sends_arrive_and_are_not_reported,
                a_second_send_waits_for_the_first,
                empty_sends_and_ranges_that_do_not_exist_are_refused,
                a_send_the_peer_does_not_read_ends_when_it_does,
                a_stopped_receiver_gets_its_bytes_later,
                both_directions_at_once_do_not_disturb_each_other,
                random_traffic_on_many_connections_is_delivered_exactly,
                many_sockets_and_few_buffers_lose_nothing,
                lent_bytes_end_with_the_next_turn,
                steady_traffic_uses_the_same_buffers,
                the_counters_add_up,
            ;
            ending:
                the_end_is_seen_after_all_bytes,
                a_graceful_close_delivers_what_was_sent_before,
                a_graceful_close_behind_a_stuck_send_ends_in_time,
                a_reset_shows_as_one,
                the_option_to_reset_makes_every_close_one,
                sending_to_one_who_left_fails_once,
                a_reset_ends_an_unfinished_send,
                a_shutdown_ends_one_half_behind_all_bytes,
                a_shutdown_behind_a_stuck_send_waits_for_it,
                after_a_shutdown_sends_are_refused_and_another_changes_nothing,
                both_halves_shut_down_are_seen_by_both_sides,
                a_reset_behind_a_shutdown_ends_the_other_half,
                a_close_behind_a_shutdown_leaves_the_next_in_its_slot_alone,
                a_stale_token_is_refused_everywhere,
                a_listener_neither_sends_nor_receives,
                a_stale_token_never_reaches_who_took_the_slot,
                ten_thousand_connections_come_and_go_in_a_few_slots,
                nothing_comes_after_a_close_in_the_middle_of_things,
            ;
            waiting:
                a_wait_ends_at_its_deadline_and_not_before,
                a_deadline_in_the_past_does_not_sleep,
                a_wait_for_now_does_not_sleep_and_time_goes_on,
                a_wait_ends_as_soon_as_something_happens,
                a_wake_before_the_sleep_ends_it,
                a_wake_ends_the_sleep_whatever_else_the_turn_brings,
            ;
        }
    };
}

/// Cases for the drivers on the kernel's clock.
macro_rules! kernel_clocks {
    ($run:ident) => {
        tests! { $run:
            waiting:
                a_wake_from_another_thread_ends_a_sleep,
            ;
            dozing:
                a_handle_is_quiet_while_nothing_happens,
                a_wake_makes_the_handle_readable,
                what_is_there_already_forbids_a_sleep,
                all_of_an_exchange_is_noticed_by_sleeping_on_the_handle,
                each_of_many_thousand_wakes_ends_a_sleep,
                a_handle_that_is_not_slept_on_costs_no_call,
                a_driver_says_when_it_must_be_back,
            ;
        }
    };
}

/// Cases for the drivers on the kernel's sockets. The peers in them know no TLS; those that do are
/// in the tests of `tls`.
macro_rules! kernel_drivers {
    ($run:ident) => {
        kernel_clocks!($run);
        tests! { $run:
            outside:
                after_half_a_close_the_other_half_still_sends,
                bytes_and_the_end_at_once_are_both_seen,
                bytes_before_a_reset_do_not_hang,
                a_driver_that_is_dropped_ends_all_its_connections,
                a_peers_address_is_what_the_peer_has_for_its_own,
                a_driver_that_is_dropped_accepts_no_more,
            ;
            dozing:
                a_connection_makes_the_handle_readable,
                bytes_and_their_end_make_the_handle_readable,
                the_end_of_a_stuck_send_makes_the_handle_readable,
                each_of_many_thousand_answers_ends_a_sleep,
            ;
        }
    };
}

macro_rules! run_on_epoll {
    ($case:path) => {
        $case(&super::open_epoll)
    };
}
use run_on_epoll;

mod on_epoll {
    every_driver!(run_on_epoll);
    kernel_drivers!(run_on_epoll);
}

/// Runs a case on io_uring, or says that it cannot be run here and counts that.
macro_rules! run_on_uring {
    ($case:path) => {
        if super::uring_opens(stringify!($case)) {
            $case(&|config| engine::uring::open(config).expect("it opened before"))
        }
    };
}
use run_on_uring;

mod on_uring {
    every_driver!(run_on_uring);
    kernel_drivers!(run_on_uring);
}

/// Runs a case on several rings, each of which has so few places that most cases need more than one
/// of them.
macro_rules! run_on_rings {
    ($case:path) => {
        if super::uring_opens(stringify!($case)) {
            $case(&|config| {
                engine::uring::rings::open_with(config, super::EACH_RING).expect("it opened before")
            })
        }
    };
}
use run_on_rings;

mod on_rings {
    every_driver!(run_on_rings);
    kernel_drivers!(run_on_rings);
}

/// Runs a case on io_uring as the oldest kernel of use would give it: files are descriptors of the
/// process, completions interrupt, and times are lengths.
macro_rules! run_on_old_uring {
    ($case:path) => {
        if super::uring_opens(stringify!($case)) {
            $case(&|config| {
                let config = engine::Config {
                    without: Feature::optional().collect(),
                    ..config.clone()
                };
                uring::open(&config).expect("it opened before")
            })
        }
    };
}
use run_on_old_uring;

mod on_old_uring {
    use engine::{Feature, uring};

    every_driver!(run_on_old_uring);
    kernel_drivers!(run_on_old_uring);
}

/// Whether io_uring can be had. Where not, each case that is skipped says so.
fn uring_opens(case: &str) -> bool {
    let Err(error) = uring::open(&Config::default()) else {
        return true;
    };
    skip::skip(format!("{case} on io_uring: {error}"));
    false
}

macro_rules! run_on_simulator {
    ($case:path) => {
        $case(&super::open_simulator)
    };
}
use run_on_simulator;

mod on_simulator {
    every_driver!(run_on_simulator);
}

macro_rules! run_on_rough_simulator {
    ($case:path) => {
        $case(&super::open_rough_simulator)
    };
}
use run_on_rough_simulator;

mod on_rough_simulator {
    every_driver!(run_on_rough_simulator);
}

macro_rules! run_on_secured_epoll {
    ($case:path) => {
        $case(&|config| super::secured(super::open_epoll(config)))
    };
}
use run_on_secured_epoll;

mod on_secured_epoll {
    every_driver!(run_on_secured_epoll);
    kernel_clocks!(run_on_secured_epoll);
}

macro_rules! run_on_secured_uring {
    ($case:path) => {
        if super::uring_opens(stringify!($case)) {
            $case(&|config| super::secured(engine::uring::open(config).expect("it opened before")))
        }
    };
}
use run_on_secured_uring;

mod on_secured_uring {
    every_driver!(run_on_secured_uring);
    kernel_clocks!(run_on_secured_uring);
}

macro_rules! run_on_secured_simulator {
    ($case:path) => {
        $case(&|config| super::secured(super::open_simulator(config)))
    };
}
use run_on_secured_simulator;

mod on_secured_simulator {
    every_driver!(run_on_secured_simulator);
}

macro_rules! run_on_secured_rough_simulator {
    ($case:path) => {
        $case(&|config| super::secured(super::open_rough_simulator(config)))
    };
}
use run_on_secured_rough_simulator;

mod on_secured_rough_simulator {
    every_driver!(run_on_secured_rough_simulator);
}
