// The subject goroutines-go: three million goroutines at once, each waiting on a channel.
package main

import (
	"fmt"
	"runtime"
	"sync"
)

const count = 3_000_000

func main() {
	var started, ended sync.WaitGroup
	started.Add(count)
	ended.Add(count)
	release := make(chan struct{})
	for range count {
		go func() {
			started.Done()
			<-release
			ended.Done()
		}()
	}
	started.Wait()
	// The main goroutine isn't one of them.
	running := runtime.NumGoroutine() - 1
	close(release)
	ended.Wait()
	fmt.Println("goroutines", running)
}
