package kubeclient

import (
	"io"
	"sync"
)

// watchBody reports the end of a watch's stream, once.
type watchBody struct {
	io.ReadCloser
	once sync.Once
	over func()
}

// Read implements io.Reader.
func (b *watchBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.once.Do(b.over)
	}
	return n, err
}

// Close implements io.Closer.
func (b *watchBody) Close() error {
	b.once.Do(b.over)
	return b.ReadCloser.Close()
}
