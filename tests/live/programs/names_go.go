// SPDX-License-Identifier: MIT

// Methods, closures and interfaces, whose names are Go's.
package main

import (
	"fmt"
	"sort"
)

type stack struct{ items []int }

type byRest []int

//go:noinline
func (s *stack) push(n int) { s.items = append(s.items, n) }

func (b byRest) Len() int           { return len(b) }
func (b byRest) Swap(i, j int)      { b[i], b[j] = b[j], b[i] }
func (b byRest) Less(i, j int) bool { return b[i]%97 < b[j]%97 }

//go:noinline
func spin(n int, f func(int) int) (sum int) {
	for i := 0; i < n; i++ {
		sum += f(i)
	}
	return
}

func main() {
	total := 0
	for {
		s := &stack{}
		for i := 0; i < 1000; i++ {
			s.push(i * 7919 % 1009)
		}
		sort.Sort(byRest(s.items))
		total += spin(20000, func(i int) int { return i ^ total })
		total += len(fmt.Sprintf("%d %v", total, s.items[:10]))
	}
}
