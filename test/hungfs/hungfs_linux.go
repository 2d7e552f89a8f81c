package hungfs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// FS is one that is mounted.
type FS struct {
	dir    string
	device *os.File
	served chan struct{}
	slow   atomic.Int64 // how long a change of an owner or a mode takes, in nanoseconds
}

// Mount makes an empty file system at the directory dir. It needs root, and a kernel with FUSE.
func Mount(dir string) (*FS, error) {
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open /dev/fuse: %w", err)
	}
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", fd)
	if err := unix.Mount("hungfs", dir, "fuse", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return nil, errors.Join(fmt.Errorf("mount a FUSE file system at %s: %w", dir, err), unix.Close(fd))
	}
	f := &FS{dir: dir, device: os.NewFile(uintptr(fd), "fuse"), served: make(chan struct{})}
	go f.serve()
	return f, nil
}

// Hang has it answer nobody any more. What was read is answered yet: who waits for that could not be killed.
func (f *FS) Hang() {
	_ = f.device.SetReadDeadline(time.Unix(1, 0)) // it has one: it does not block
	<-f.served
}

// SlowChanges has each change of an owner or a mode take d; what is only read is answered meanwhile.
func (f *FS) SlowChanges(d time.Duration) { f.slow.Store(int64(d)) }

// Close fails all who wait, and takes the mount away.
func (f *FS) Close() error {
	err := f.device.Close()
	<-f.served
	return errors.Join(err, unix.Unmount(f.dir, unix.MNT_DETACH))
}

// Requests of linux/fuse.h.
const (
	opLookup      = 1
	opForget      = 2
	opGetattr     = 3
	opSetattr     = 4
	opStatfs      = 17
	opInit        = 26
	opOpendir     = 27
	opReaddir     = 28
	opReleasedir  = 29
	opInterrupt   = 36
	opDestroy     = 38
	opBatchForget = 42
)

var le = binary.LittleEndian // the kernel's own order, which is little-endian where this runs

// serve answers until it is to hang, and holds the rest unread: so who waits can be killed. The kernel writes the requests.
func (f *FS) serve() {
	defer close(f.served)
	in := make([]byte, 1<<17)
	for {
		n, err := f.device.Read(in)
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EINTR) { // who asked was killed
			continue
		}
		if err != nil || n < 40 {
			return
		}
		out := answer(in[:n])
		switch d := time.Duration(f.slow.Load()); {
		case out == nil:
		case d > 0 && le.Uint32(in[4:]) == opSetattr:
			time.AfterFunc(d, func() { _, _ = f.device.Write(out) })
		default:
			_, _ = f.device.Write(out) // who asked may be gone
		}
	}
}

// answer is fuse_out_header and a body; nil is none.
func answer(request []byte) []byte {
	var body []byte
	var failed unix.Errno
	switch le.Uint32(request[4:]) {
	case opForget, opBatchForget, opInterrupt:
		return nil
	case opInit: // fuse_init_out
		body = make([]byte, 64)
		le.PutUint32(body, 7)
		le.PutUint32(body[4:], 31)
		le.PutUint32(body[20:], 4096) // max_write
	case opGetattr, opSetattr: // fuse_attr_out, good for no time
		body = make([]byte, 104)
		le.PutUint64(body[16:], 1)                     // ino
		le.PutUint32(body[16+60:], unix.S_IFDIR|0o777) // mode
		le.PutUint32(body[16+64:], 2)                  // nlink
		le.PutUint32(body[16+80:], 4096)               // blksize
	case opStatfs: // fuse_kstatfs
		body = make([]byte, 80)
		le.PutUint32(body[40:], 4096) // bsize
		le.PutUint32(body[44:], 255)  // namelen
	case opOpendir: // fuse_open_out
		body = make([]byte, 16)
	case opReaddir, opReleasedir, opDestroy:
	case opLookup:
		failed = unix.ENOENT
	default:
		failed = unix.ENOSYS
	}
	out := make([]byte, 16, 16+len(body))
	le.PutUint32(out, uint32(16+len(body)))
	le.PutUint32(out[4:], uint32(-int32(failed)))
	copy(out[8:], request[8:16]) // unique
	return append(out, body...)
}
