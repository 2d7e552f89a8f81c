package plugins

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// places follows what is at the directories' paths, by inotify on them and on what is above them: a directory may come after this
// program, go, or be exchanged for another, at any height.
type places struct {
	dirs  []string
	file  *os.File
	raw   syscall.RawConn    // so that no watch is set on a file that was closed meanwhile
	names map[int32][]string // by watch: what in it matters
}

const (
	placeSelf = unix.IN_DELETE_SELF | unix.IN_MOVE_SELF
	// placeNames is for a directory above what is not there, or is a link. Else what is below tells of itself when it goes, and
	// what others do in directories far above, as /tmp, wakes nobody; fsnotify cannot be told that.
	placeNames = unix.IN_CREATE | unix.IN_MOVED_TO | unix.IN_MOVED_FROM | unix.IN_DELETE
	// tries bounds how often what changes meanwhile is looked at again.
	placeTries = 16
	// maxLinks is how many links the kernel follows.
	maxLinks = 40
)

func newPlaces(dirs []string) (*places, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("watch CNI plugins: inotify_init: %w", err)
	}
	p := &places{dirs: dirs, file: os.NewFile(uintptr(fd), "inotify"), names: map[int32][]string{}}
	p.raw, err = p.file.SyscallConn()
	return p, err
}

// on calls f with the inotify's descriptor.
func (p *places) on(f func(fd int) error) (err error) {
	return errors.Join(p.raw.Control(func(fd uintptr) { err = f(int(fd)) }), err)
}

// arm watches each directory and all above it that exist, and the same of what links lead to.
func (p *places) arm() error { return p.on(p.armOn) }

func (p *places) armOn(fd int) error {
	for range placeTries {
		had := len(p.names)
		want := map[string][]string{} // by directory: what in it matters
		for _, d := range p.dirs {
			for _, path := range resolve(d) {
				steps(want, path)
			}
		}
		seen, masks := map[int32][]string{}, map[int]uint32{}
		for _, dir := range below(want) {
			mask := maskOf(want, dir)
			wd, err := unix.InotifyAddWatch(fd, dir, mask)
			if old := masks[wd]; err == nil && old&^mask != 0 { // it is reached by another path too
				mask |= old
				_, err = unix.InotifyAddWatch(fd, dir, mask)
			}
			if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.EACCES) {
				delete(want, dir)
				continue // what is above it tells when it comes
			}
			if err != nil {
				return fmt.Errorf("inotify watch on %s: %w", dir, err)
			}
			masks[wd] = mask
			seen[int32(wd)] = append(seen[int32(wd)], want[dir]...)
		}
		for wd := range p.names {
			if _, ok := seen[wd]; !ok {
				_, _ = unix.InotifyRmWatch(fd, uint32(wd))
			}
		}
		p.names = seen
		if len(seen) == had { // what came between two looks has been looked at
			return nil
		}
	}
	return nil
}

// resolve returns a path and what it becomes link by link, also where the last leads to nothing.
func resolve(path string) []string {
	out := []string{filepath.Clean(path)}
	for range maxLinks {
		next := follow(out[len(out)-1])
		if next == "" {
			break
		}
		out = append(out, next)
	}
	return out
}

// follow replaces the first link in a path; "" when there is none.
func follow(path string) string {
	for at := 1; at <= len(path); at++ {
		if at < len(path) && path[at] != '/' {
			continue
		}
		to, err := os.Readlink(path[:at])
		if err != nil {
			continue
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path[:at]), to)
		}
		return filepath.Join(to, path[at:])
	}
	return ""
}

// steps adds a directory and those above it, each with the name of what is below it.
func steps(want map[string][]string, dir string) {
	dir = filepath.Clean(dir)
	if want[dir] == nil {
		want[dir] = []string{}
	}
	for up := filepath.Dir(dir); up != dir; dir, up = up, filepath.Dir(up) {
		if name := filepath.Base(dir); !slices.Contains(want[up], name) {
			want[up] = append(want[up], name)
		}
	}
}

// below returns the directories, each after all that are below it.
func below(want map[string][]string) []string {
	return slices.SortedFunc(maps.Keys(want), func(a, b string) int { return len(b) - len(a) })
}

// maskOf is what to be told of a directory. Those below it have been watched, or deleted from want.
func maskOf(want map[string][]string, dir string) uint32 {
	mask := uint32(unix.IN_ONLYDIR | placeSelf)
	for _, name := range want[dir] {
		path := filepath.Join(dir, name)
		if info, err := os.Lstat(path); want[path] == nil || err != nil || !info.IsDir() {
			mask |= placeNames
		}
	}
	return mask
}

// changed waits until something happened to the directories themselves; what happens in them does not matter. Its error says that the
// watch was closed.
func (p *places) changed() error {
	buf := make([]byte, 16<<10)
	for {
		n, err := p.file.Read(buf)
		if err != nil {
			return err
		}
		if p.matters(buf[:n]) {
			return nil
		}
	}
}

// matters reports whether one of the events is about a directory that is watched.
func (p *places) matters(buf []byte) bool {
	for len(buf) >= unix.SizeofInotifyEvent {
		wd := int32(binary.NativeEndian.Uint32(buf))
		mask := binary.NativeEndian.Uint32(buf[4:])
		end := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(buf[12:]))
		if end > len(buf) {
			return false
		}
		name := strings.TrimRight(string(buf[unix.SizeofInotifyEvent:end]), "\x00")
		buf = buf[end:]
		if mask&(unix.IN_Q_OVERFLOW|placeSelf|unix.IN_UNMOUNT) != 0 || slices.Contains(p.names[wd], name) {
			return true
		}
	}
	return false
}
