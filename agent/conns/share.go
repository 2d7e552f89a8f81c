package conns

import "sync"

// Share is a number of slots of which one holder can have only a part. Safe for concurrent use.
type Share struct {
	total, each int

	mu    sync.Mutex
	taken int
	of    map[string]int
}

// NewShare returns total slots, of which each holder gets at most each.
func NewShare(total, each int) *Share {
	return &Share{total: total, each: each, of: map[string]int{}}
}

// Take takes a slot for the holder and returns a function that releases it; nil means that there is no free slot.
func (s *Share) Take(holder string) (give func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken >= s.total || s.of[holder] >= s.each {
		return nil
	}
	s.taken++
	s.of[holder]++
	return sync.OnceFunc(func() { s.give(holder) })
}

func (s *Share) give(holder string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken--
	if s.of[holder]--; s.of[holder] == 0 {
		delete(s.of, holder)
	}
}
