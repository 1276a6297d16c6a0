//! The program from outside: what it prints where, how it ends, and what it makes of servers that
//! behave, misbehave or are not there.

// Its longest test takes half as long as all others: tests begin in the order of their names.
#[path = "../../../tests/browser.rs"]
mod browser;
mod built_subjects;
mod calls;
mod capacity;
mod child;
mod claims;
#[path = "../../../tests/collector.rs"]
mod collector;
mod colours;
mod commit;
mod compare;
mod doctor;
mod events;
mod expect;
mod explain;
mod fault_proxy;
mod faulted;
mod faults;
mod fleet;
mod flows;
mod follow;
mod foreign;
mod formats;
mod gate;
mod generators;
mod grpc;
mod help;
mod history;
mod hold;
mod http2;
#[path = "../../../tests/installed.rs"]
mod installed;
mod interop;
mod link;
mod live;
#[path = "../../../tests/master.rs"]
mod master;
mod network;
mod origins;
mod otlp;
mod output;
mod pack;
mod page;
mod pages;
#[path = "../../../tests/patterns.rs"]
mod patterns;
mod peers;
mod pipelines;
#[path = "../../../tests/ports.rs"]
mod ports;
mod processes;
mod prometheus;
mod proxy;
mod pty;
mod record;
mod replay;
mod resume;
mod schema;
mod scraped_servers;
mod scripts;
mod secrets;
mod serve;
mod signals;
mod site;
mod skill;
#[path = "../../../tests/skip.rs"]
mod skip;
mod soak;
mod soak_watched;
mod start;
mod start_resume;
mod start_url;
mod targets;
mod tls;
mod usage;
mod void;
mod watched;
mod websocket;
#[path = "../../../tests/yaml.rs"]
mod yaml;
