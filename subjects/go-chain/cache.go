package main

import (
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// Cache is the cache of this process: the accounts asked for last, each for a while.
type Cache struct {
	entries  *lru.Cache[uint32, entry]
	lifetime time.Duration
}

type entry struct {
	account Account
	expires time.Time
}

// newCache makes a cache of `size` accounts, each recent for `lifetime`; or none.
func newCache(size int, lifetime time.Duration) *Cache {
	if size <= 0 {
		return new(Cache)
	}
	entries, err := lru.New[uint32, entry](size)
	if err != nil {
		panic(err) // Only a size below one is refused.
	}
	return &Cache{entries, lifetime}
}

// get finds an account, and whether it is recent enough to be the answer.
func (cache *Cache) get(id uint32) (account Account, fresh bool) {
	if cache.entries == nil {
		return Account{}, false
	}
	found, _ := cache.entries.Get(id)
	return found.account, time.Now().Before(found.expires)
}

func (cache *Cache) put(account Account) {
	if cache.entries != nil {
		cache.entries.Add(account.ID, entry{account, time.Now().Add(cache.lifetime)})
	}
}
