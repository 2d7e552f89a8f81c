package script

import (
	"os"
	"path"
	"strings"
	"sync"
	"syscall"
)

const (
	// maxFile limits a file in memory: of a file that grows forever, the newest part is kept.
	maxFile = 64 << 10
	// maxFiles limits the number of files.
	maxFiles = 500
)

// Files is the file system of one container: the files of its processes, in memory. The zero value is empty and ready
// to use.
type Files struct {
	mu   sync.Mutex
	data map[string][]byte
	host map[string]string
}

// Map makes writes to one path inside the container go to a file on the host, which must exist.
func (f *Files) Map(inside, host string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.host == nil {
		f.host = map[string]string{}
	}
	f.host[path.Clean(inside)] = host
}

func (f *Files) write(name string, b []byte, appending bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	name = path.Clean(name)
	if host, ok := f.host[name]; ok {
		mode := os.O_WRONLY | os.O_TRUNC
		if appending {
			mode = os.O_WRONLY | os.O_APPEND
		}
		file, err := os.OpenFile(host, mode, 0)
		if err != nil {
			return err
		}
		_, err = file.Write(b)
		return firstError(err, file.Close())
	}
	if f.data == nil {
		f.data = map[string][]byte{}
	}
	old, exists := f.data[name]
	if !exists && len(f.data) >= maxFiles {
		return syscall.ENOSPC
	}
	if appending {
		b = append(old, b...)
	}
	f.data[name] = b[max(0, len(b)-maxFile):]
	return nil
}

func (f *Files) read(name string) ([]byte, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	b, ok := f.data[path.Clean(name)]
	return b, ok
}

// exists returns true for files and for their parent directories.
func (f *Files) exists(name string) (file, dir bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	name = path.Clean(name)
	if _, ok := f.data[name]; ok {
		return true, false
	}
	for have := range f.data {
		if strings.HasPrefix(have, name+"/") || name == "/" {
			return false, true
		}
	}
	return false, name == "/"
}

func (f *Files) remove(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	name = path.Clean(name)
	found := false
	for have := range f.data {
		if have == name || strings.HasPrefix(have, name+"/") {
			delete(f.data, have)
			found = true
		}
	}
	return found
}

// firstError returns the first non-nil error.
func firstError(a, b error) error {
	if a != nil {
		return a
	}
	return b
}
