package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"
	"github.com/sony/gobreaker/v2"
	"golang.org/x/sync/singleflight"
)

const (
	// Accounts in the database.
	accounts = 100_000
	// Connections to the database.
	databaseConnections = 16
	// Requests that may wait for one of them; more are answered without the database.
	databaseWaiting = 64
	// How long a dependency may take.
	redisTime    = 100 * time.Millisecond
	databaseTime = 250 * time.Millisecond
)

// errUnavailable says that a dependency was not asked: its breaker is open, or its pool is full.
var errUnavailable = errors.New("not asked")

// Account is a row of the database.
type Account struct {
	ID      uint32 `json:"id"`
	Balance int64  `json:"balance"`
	Note    string `json:"note"`
	Fresh   bool   `json:"fresh"`
}

// A note of this length makes an answer 320 bytes long.
const noteBytes = 237

func answerOf(account Account) Answer {
	fresh := 0
	if account.Fresh {
		fresh = 1
	}
	return Answer{
		Account:  fmt.Sprintf("%07d", account.ID),
		Balance:  fmt.Sprintf("%012d", account.Balance),
		Fresh:    fresh,
		Currency: "EUR",
		Note:     account.Note,
	}
}

// The note of every account, also of one of which nothing is known.
var note = strings.Repeat("an account like any other, ", noteBytes/27+1)[:noteBytes]

// Store is Redis with the database behind it, each with a breaker of its own.
type Store struct {
	redis           *redis.Client
	redisBreaker    *gobreaker.CircuitBreaker[int]
	database        *sql.DB
	databaseBreaker *gobreaker.CircuitBreaker[Account]
	// Room for those who use the database or wait for it, so that a slow one holds nobody else up.
	room chan struct{}
	// Many who miss the same account at once ask once.
	flights singleflight.Group
	counts  *Counts
	// How long Redis may answer without the database being asked anew.
	redisLifetime time.Duration
}

func openStore(redisAddress, databaseAddress string, counts *Counts) (*Store, error) {
	config := mysql.NewConfig()
	config.User, config.Net, config.Addr = "root", "tcp", databaseAddress
	config.InterpolateParams = true
	config.Timeout, config.ReadTimeout = databaseTime, 10*time.Second
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	database := sql.OpenDB(connector)
	database.SetMaxOpenConns(databaseConnections)
	database.SetMaxIdleConns(databaseConnections)
	client := redis.NewClient(&redis.Options{
		Addr:          redisAddress,
		PoolSize:      32,
		MaxRetries:    -1,
		DialTimeout:   redisTime,
		DialerRetries: 1,
		ReadTimeout:   redisTime,
		WriteTimeout:  redisTime,
	})
	return &Store{
		redis:           client,
		redisBreaker:    gobreaker.NewCircuitBreaker[int](breaker("redis")),
		database:        database,
		databaseBreaker: gobreaker.NewCircuitBreaker[Account](breaker("database")),
		room:            make(chan struct{}, databaseConnections+databaseWaiting),
		counts:          counts,
	}, nil
}

// breaker opens after five failures in a row, and lets one request try again after a second.
func breaker(name string) gobreaker.Settings {
	return gobreaker.Settings{
		Name:        name,
		Timeout:     time.Second,
		ReadyToTrip: func(counts gobreaker.Counts) bool { return counts.ConsecutiveFailures >= 5 },
		IsExcluded:  func(err error) bool { return errors.Is(err, context.Canceled) },
		OnStateChange: func(name string, from, to gobreaker.State) {
			log.Printf("breaker of %s: %s, was %s", name, to, from)
		},
	}
}

// find asks Redis, and the database if Redis does not know or cannot be asked.
func (store *Store) find(ctx context.Context, id uint32) (Account, error) {
	key := "account:" + strconv.FormatUint(uint64(id), 10)
	var account Account
	found, err := store.redisBreaker.Execute(func() (int, error) {
		text, err := store.redis.Get(ctx, key).Bytes()
		if errors.Is(err, redis.Nil) {
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
		return 1, json.Unmarshal(text, &account)
	})
	if err == nil && found == 1 {
		store.counts.redis.Add(1)
		return account, nil
	}
	asked, err, _ := store.flights.Do(key, func() (any, error) { return store.read(key, id) })
	if err != nil {
		return Account{}, err
	}
	return asked.(Account), nil
}

// read asks the database, if there is room, and tells Redis. Others may wait for the answer, so it
// does not end with the request that asked first.
func (store *Store) read(key string, id uint32) (Account, error) {
	select {
	case store.room <- struct{}{}:
	default:
		return Account{}, errUnavailable
	}
	defer func() { <-store.room }()
	ctx, cancel := context.WithTimeout(context.Background(), databaseTime)
	defer cancel()
	account, err := store.databaseBreaker.Execute(func() (Account, error) {
		account := Account{ID: id, Fresh: true}
		const query = "SELECT balance, note FROM ringside.accounts WHERE id = ?"
		err := store.database.QueryRowContext(ctx, query, id).Scan(&account.Balance, &account.Note)
		return account, err
	})
	if errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests) {
		return Account{}, errUnavailable
	}
	if err != nil {
		return Account{}, err
	}
	store.counts.database.Add(1)
	store.redisBreaker.Execute(func() (int, error) {
		text, err := json.Marshal(account)
		if err != nil {
			return 0, err
		}
		return 0, store.redis.Set(ctx, key, text, store.redisLifetime).Err()
	})
	return account, nil
}

// fill makes the table and its rows.
func (store *Store) fill(ctx context.Context) error {
	statements := []string{
		"CREATE DATABASE IF NOT EXISTS ringside",
		"CREATE OR REPLACE TABLE ringside.accounts (" +
			"id INT UNSIGNED PRIMARY KEY, balance BIGINT NOT NULL, note VARCHAR(255) NOT NULL)",
		"INSERT INTO ringside.accounts SELECT seq, seq * 37, ? FROM ringside.seq_0_to_99999",
	}
	for _, statement := range statements {
		var err error
		if strings.Contains(statement, "?") {
			_, err = store.database.ExecContext(ctx, statement, note)
		} else {
			_, err = store.database.ExecContext(ctx, statement)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return store.redis.Ping(ctx).Err()
}
