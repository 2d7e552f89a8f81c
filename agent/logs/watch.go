package logs

import (
	"fmt"

	"github.com/kubeloupe/kubeloupe/agent/inotify"
)

// changes reports events in a directory.
type changes struct {
	// C receives true when a writer closed a file.
	C    chan bool
	in   *inotify.Watcher
	done chan struct{}
}

const watchOps = inotify.Names | inotify.Modify | inotify.CloseWrite

func watch(dir string) (*changes, error) {
	in, err := inotify.New()
	if err != nil {
		return nil, fmt.Errorf("follow container log: %w", err)
	}
	if _, err := in.Add(dir, watchOps); err != nil {
		_ = in.Close() // nothing was read from it
		return nil, fmt.Errorf("follow container log: %w", err)
	}
	c := &changes{C: make(chan bool, 1), in: in, done: make(chan struct{})}
	go c.read()
	return c, nil
}

func (c *changes) read() {
	defer close(c.done)
	buf := make([]byte, 4096)
	for {
		events, err := c.in.Read(buf)
		if err != nil {
			return
		}
		closed := false
		for _, e := range events {
			closed = closed || e.Has(inotify.CloseWrite)
		}
		// A pending notification is also one for this event.
		select {
		case c.C <- closed:
		case was := <-c.C:
			c.C <- was || closed
		}
	}
}

func (c *changes) close() {
	_ = c.in.Close() // ends read
	<-c.done
}
