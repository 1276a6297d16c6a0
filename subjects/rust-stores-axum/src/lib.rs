//! The application of the subjects rust-stores-axum and rust-stores-ringside, which knows nothing
//! of the server: a user by its number, out of MariaDB and Redis, as JSON.

use std::error::Error;
use std::net::SocketAddr;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::get;
use axum::{Json, Router};
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Opts, OptsBuilder, Pool, PoolConstraints, PoolOpts};
use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use redis::{AsyncCommands, Client};
use serde::Serialize;

/// Users in the database and in Redis, numbered from 1.
const USERS: u32 = 10_000;

/// Connections to the database.
const CONNECTIONS: PoolConstraints = match PoolConstraints::new(16, 16) {
    Some(constraints) => constraints,
    None => panic!("the fewest aren't more than the most"),
};

/// What the program is told: where to listen, and where its stores are.
pub struct Arguments {
    pub address: SocketAddr,
    redis: SocketAddr,
    database: SocketAddr,
}

impl Arguments {
    pub fn read() -> Result<Arguments, Box<dyn Error>> {
        let mut words = std::env::args().skip(1);
        let mut next = || -> Result<SocketAddr, Box<dyn Error>> {
            let word = words.next().ok_or("usage: server ADDRESS REDIS DATABASE")?;
            Ok(word.parse()?)
        };
        Ok(Arguments {
            address: next()?,
            redis: next()?,
            database: next()?,
        })
    }

    fn database(&self) -> OptsBuilder {
        OptsBuilder::default()
            .ip_or_hostname(self.database.ip().to_string())
            .tcp_port(self.database.port())
            .user(Some("root"))
            .prefer_socket(false)
    }

    fn redis(&self) -> Result<Client, Box<dyn Error>> {
        Ok(Client::open(format!("redis://{}/", self.redis))?)
    }

    /// Makes the users anew.
    pub async fn fill(&self) -> Result<(), Box<dyn Error>> {
        let mut database = Conn::new(Opts::from(self.database())).await?;
        for statement in [
            "CREATE DATABASE IF NOT EXISTS ringside".to_owned(),
            "CREATE OR REPLACE TABLE ringside.users (id INT UNSIGNED PRIMARY KEY, \
             name VARCHAR(64) NOT NULL, email VARCHAR(64) NOT NULL)"
                .to_owned(),
            format!(
                "INSERT INTO ringside.users SELECT seq, CONCAT('User ', seq), \
                 CONCAT('user', seq, '@example.org') FROM ringside.seq_1_to_{USERS}"
            ),
        ] {
            database.query_drop(statement).await?;
        }
        database.disconnect().await?;
        let visits: Vec<(String, u32)> = (1..=USERS).map(|id| (key(id), id * 37)).collect();
        let mut redis = self.redis()?.get_multiplexed_async_connection().await?;
        Ok(redis.mset(&visits).await?)
    }
}

/// Where users are: connections that one runtime has, made as they're needed.
#[derive(Clone)]
struct Stores {
    redis: ConnectionManager,
    database: Pool,
}

#[derive(Serialize)]
struct User {
    id: u32,
    name: String,
    email: String,
    visits: u32,
}

/// The application with connections of its own. Needs the runtime that it will run on.
pub fn app(arguments: &Arguments) -> Result<Router, Box<dyn Error>> {
    let redis = ConnectionManagerConfig::new();
    let pool = PoolOpts::new()
        .with_constraints(CONNECTIONS)
        .with_reset_connection(false);
    let stores = Stores {
        redis: ConnectionManager::new_lazy_with_config(arguments.redis()?, redis)?,
        database: Pool::new(arguments.database().pool_opts(pool)),
    };
    Ok(Router::new()
        .route("/health", get(|| async { StatusCode::NO_CONTENT }))
        .route("/user/{id}", get(user))
        .with_state(stores))
}

async fn user(
    State(stores): State<Stores>,
    Path(id): Path<u32>,
) -> Result<Json<User>, (StatusCode, String)> {
    match find(stores, id).await {
        Ok(Some(user)) => Ok(Json(user)),
        Ok(None) => Err((StatusCode::NOT_FOUND, format!("there's no user {id}\n"))),
        Err(error) => Err((StatusCode::SERVICE_UNAVAILABLE, format!("{error}\n"))),
    }
}

async fn find(mut stores: Stores, id: u32) -> Result<Option<User>, Box<dyn Error + Send + Sync>> {
    let mut database = stores.database.get_conn().await?;
    let query = "SELECT name, email FROM ringside.users WHERE id = ?";
    let found: Option<(String, String)> = database.exec_first(query, (id,)).await?;
    // Others need it while Redis is asked.
    drop(database);
    let Some((name, email)) = found else {
        return Ok(None);
    };
    let visits = stores.redis.get(key(id)).await?;
    Ok(Some(User {
        id,
        name,
        email,
        visits,
    }))
}

fn key(id: u32) -> String {
    format!("visits:{id}")
}
