// The naive Fibonacci number of 35: about thirty million calls and nothing else.
package main

import "fmt"

func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

func main() {
	fmt.Println(fib(35))
}
