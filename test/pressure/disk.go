package pressure

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// Disk writes to a disk and waits for it, with several writers, until the test ends. It uses 16 MiB.
func Disk(t *testing.T) {
	t.Helper()
	dir, stop := t.TempDir(), make(chan struct{})
	var all sync.WaitGroup
	t.Cleanup(func() { close(stop); all.Wait() })
	for i := range 8 {
		f, err := os.Create(filepath.Join(dir, string(rune('a'+i))))
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			defer func() { _ = f.Close() }()
			block := make([]byte, 64<<10)
			for n := int64(0); ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := f.WriteAt(block, n%32*int64(len(block))); err != nil {
					return
				}
				_ = f.Sync()
			}
		})
	}
}
