package ownnet

import (
	"fmt"
	"os"
	"sync"
	"testing"
)

// Shared is what the tests of a package share, such as a cluster. Build and Close are required.
type Shared[T any] struct {
	// Build makes it, for the first test that asks for it.
	Build func(t *testing.T) (T, error)
	// Close takes it down after the last test. Its error names what would be left.
	Close func(T) error

	once  sync.Once
	value T
	err   error
	built bool
}

// Get returns it, and builds it first if necessary. It skips the test where containers cannot be started, and fails each test if it could
// not be built.
func (s *Shared[T]) Get(t *testing.T) T {
	t.Helper()
	Need(t)
	s.once.Do(func() {
		s.value, s.err = s.Build(t)
		s.built = s.err == nil
	})
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s.value
}

// Run runs the tests, closes what they shared, and returns the exit code.
func (s *Shared[T]) Run(m *testing.M) int {
	code := m.Run()
	if !s.built {
		return code
	}
	if err := s.Close(s.value); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	return code
}
