// One message as Protobuf, JSON or XML: how many bytes it is, and what it costs to write and read.
// `encode protobuf|json|xml ORDER.json` writes and reads it so many times and checks the last.
package main

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"log"
	"os"

	"google.golang.org/protobuf/proto"

	"ringside/subjects/grpc-go/orders"
)

const turns = 5_000

// The order as a program that knows no Protobuf would have it.
type order struct {
	XMLName  xml.Name `json:"-" xml:"order"`
	ID       string   `json:"id" xml:"id"`
	Customer string   `json:"customer" xml:"customer"`
	Items    []item   `json:"items" xml:"items>item"`
	Total    float64  `json:"total" xml:"total"`
}

type item struct {
	SKU      string  `json:"sku" xml:"sku"`
	Name     string  `json:"name" xml:"name"`
	Quantity uint32  `json:"quantity" xml:"quantity"`
	Price    float64 `json:"price" xml:"price"`
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: encode protobuf|json|xml ORDER.json")
	}
	text, err := os.ReadFile(os.Args[2])
	check(err)
	var plain order
	check(json.Unmarshal(text, &plain))
	var bytes, items int
	switch os.Args[1] {
	case "protobuf":
		bytes, items = protobuf(plain)
	case "json":
		bytes, items = textual(plain, json.Marshal, json.Unmarshal)
	case "xml":
		bytes, items = textual(plain, xml.Marshal, xml.Unmarshal)
	default:
		log.Fatalf("unknown format %q", os.Args[1])
	}
	fmt.Printf("bytes %d\nitems %d\n", bytes, items)
}

func protobuf(plain order) (bytes, items int) {
	message := &orders.Order{Id: plain.ID, Customer: plain.Customer, Total: plain.Total}
	for _, one := range plain.Items {
		message.Items = append(message.Items, &orders.Item{
			Sku: one.SKU, Name: one.Name, Quantity: one.Quantity, Price: one.Price,
		})
	}
	for range turns {
		encoded, err := proto.Marshal(message)
		check(err)
		read := &orders.Order{}
		check(proto.Unmarshal(encoded, read))
		bytes, items = len(encoded), len(read.Items)
	}
	return bytes, items
}

func textual(
	plain order, write func(any) ([]byte, error), read func([]byte, any) error,
) (bytes, items int) {
	for range turns {
		encoded, err := write(plain)
		check(err)
		var again order
		check(read(encoded, &again))
		bytes, items = len(encoded), len(again.Items)
	}
	return bytes, items
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
