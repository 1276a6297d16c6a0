//! Sockets to bytes and back on io_uring, epoll or a simulator. No protocols.
#![deny(unsafe_code)]
