package main

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/sony/gobreaker/v2"
	"golang.org/x/time/rate"
)

// Requests that may be in the node at once, whatever their rate.
const insideMax = 4096

// Shed is the node's own limit: what is beyond it is refused before it costs anything.
type Shed struct {
	bucket *rate.Limiter
	inside atomic.Int64
}

func newShed(perSecond float64) *Shed {
	return &Shed{bucket: rate.NewLimiter(rate.Limit(perSecond), portion(perSecond, 20))}
}

// admit lets a request in, which then has to leave, or refuses it.
func (shed *Shed) admit() bool {
	if shed.inside.Add(1) > insideMax || !shed.bucket.Allow() {
		shed.inside.Add(-1)
		return false
	}
	return true
}

func (shed *Shed) leave() {
	shed.inside.Add(-1)
}

// portion is what a rate brings in the n-th part of a second, at least one.
func portion(perSecond float64, n float64) int {
	return int(math.Max(1, math.Ceil(perSecond/n)))
}

// The bucket of a route, shared by all nodes: refilled by the time that passed by Redis's clock,
// emptied by what is asked for, as far as there is any.
var bucket = redis.NewScript(`
local held = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local rate, most, wanted = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local tokens = tonumber(held[1]) or most
local passed = now - (tonumber(held[2]) or now)
tokens = math.min(most, tokens + passed * rate / 1000000)
local given = math.min(wanted, math.floor(tokens))
redis.call('HSET', KEYS[1], 'tokens', tokens - given, 'at', now)
redis.call('PEXPIRE', KEYS[1], 60000)
return given
`)

// RouteLimit is the limit of a route over all nodes: a token bucket in Redis. A node takes tokens in
// portions, so that not every request asks. Without Redis a bucket of the node's own takes over.
type RouteLimit struct {
	redis   *redis.Client
	breaker *gobreaker.CircuitBreaker[int]
	key     string
	rate    float64
	own     *rate.Limiter
	mutex   sync.Mutex
	held    int
	// After an empty answer nobody asks before this.
	again time.Time
}

func newRouteLimit(
	client *redis.Client, breaker *gobreaker.CircuitBreaker[int], route string, perSecond float64,
) *RouteLimit {
	return &RouteLimit{
		redis:   client,
		breaker: breaker,
		key:     "limit:" + route,
		rate:    perSecond,
		own:     rate.NewLimiter(rate.Limit(perSecond), portion(perSecond, 20)),
	}
}

// take takes a token, if there is one.
func (limit *RouteLimit) take(ctx context.Context) bool {
	limit.mutex.Lock()
	defer limit.mutex.Unlock()
	if limit.held == 0 {
		now := time.Now()
		if now.Before(limit.again) {
			return false
		}
		given, err := limit.breaker.Execute(func() (int, error) {
			most, wanted := portion(limit.rate, 20), portion(limit.rate, 100)
			return bucket.Run(ctx, limit.redis, []string{limit.key}, limit.rate, most, wanted).Int()
		})
		if err != nil {
			return limit.own.Allow()
		}
		if given == 0 {
			limit.again = now.Add(2 * time.Millisecond)
			return false
		}
		limit.held = given
	}
	limit.held--
	return true
}
