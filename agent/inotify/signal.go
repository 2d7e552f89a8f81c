package inotify

// BufferSize is enough for one event of any size, in bytes; Signal reads with a larger buffer.
const BufferSize = 16 + 256

// Signal reports that something happened, without details. C holds one signal for all events until it is received, and is closed
// when there can be no more. Close stops its goroutine and waits for it.
type Signal struct {
	*Watcher
	C    <-chan struct{}
	done chan struct{}
}

// NewSignal reads events of w with a buffer of this many bytes, and signals the batches for which matters is true; nil
// means all. Matters is called by one goroutine; an error ends the signals. Close closes w too.
func NewSignal(w *Watcher, bytes int, matters func([]Event) (bool, error)) *Signal {
	c := make(chan struct{}, 1)
	s := &Signal{Watcher: w, C: c, done: make(chan struct{})}
	go func() {
		defer close(s.done)
		defer close(c)
		buf := make([]byte, max(bytes, BufferSize))
		for {
			events, err := w.Read(buf)
			if err != nil {
				return
			}
			if matters != nil {
				does, err := matters(events)
				if err != nil {
					return
				}
				if !does {
					continue
				}
			}
			select {
			case c <- struct{}{}:
			default:
			}
		}
	}()
	return s
}

// Close ends the watches and the reader.
func (s *Signal) Close() error {
	err := s.Watcher.Close()
	<-s.done
	return err
}
