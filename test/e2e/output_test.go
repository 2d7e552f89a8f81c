package e2e

import (
	"bytes"
	"sync"
)

// output is what a process that may still run has said.
type output struct {
	mu   sync.Mutex
	said bytes.Buffer
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.said.Write(p)
}

// String implements fmt.Stringer.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.said.String()
}
