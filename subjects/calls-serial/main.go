// Ten calls to a service that answers each after a while: one after the other, or all at once.
// `calls serial|concurrent URL`
package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"sync"
)

const calls = 10

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: calls serial|concurrent URL")
	}
	// Each of the ten may have a connection of its own, and keeps it.
	transport := &http.Transport{MaxIdleConnsPerHost: calls}
	client := &http.Client{Transport: transport}
	var group sync.WaitGroup
	for range calls {
		if os.Args[1] == "serial" {
			call(client, os.Args[2])
			continue
		}
		group.Go(func() { call(client, os.Args[2]) })
	}
	group.Wait()
	fmt.Printf("%d answers\n", calls)
}

func call(client *http.Client, url string) {
	answer, err := client.Get(url)
	if err != nil {
		log.Fatal(err)
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		log.Fatal(err)
	}
	if answer.StatusCode != http.StatusOK {
		log.Fatal(answer.Status)
	}
}
