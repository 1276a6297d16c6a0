package main

import (
	"fmt"
	"net/http"
	"strconv"
)

// ShopItem is what the shop says of an item, encoded for each request.
type ShopItem struct {
	ID       int    `json:"id"`
	Name     string `json:"name"`
	Price    int    `json:"price"`
	Stock    int    `json:"stock"`
	Currency string `json:"currency"`
}

var shop = stocked(1000)

// stocked makes a shop of items 1 to count. Other languages' subjects sell the same.
func stocked(count int) map[int]ShopItem {
	items := make(map[int]ShopItem, count)
	for id := 1; id <= count; id++ {
		items[id] = ShopItem{
			ID:       id,
			Name:     fmt.Sprintf("Item %d", id),
			Price:    1000 + id*37%9000,
			Stock:    id % 13,
			Currency: "EUR",
		}
	}
	return items
}

func showItem(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.Atoi(r.PathValue("id"))
	item, found := shop[id]
	if err != nil || !found {
		http.NotFound(w, r)
		return
	}
	encode(w, item)
}
