package stats

import (
	"context"
	"os"

	"golang.org/x/sys/unix"
)

// What limits the memory of a walk below maxDepth. What is beyond is not counted.
const (
	maxPending = 16384 // names of directories that wait to be entered, of at most 255 bytes each
	maxLevels  = 65536 // directories that are entered but not left, with 32 bytes each
)

// level is a directory that is entered but not left.
type level struct {
	inode uint64
	todo  []string // directories in it that are not entered yet
}

// deep counts the content of a directory like below, and closes it, but has only the current directory open: containers nest directories as deep
// as there are inodes. It goes back by the name "..", and gives up if that is another directory by now.
func (w *walker) deep(ctx context.Context, dir *os.File) {
	stack := []level{w.list(ctx, dir)}
	defer func() {
		_ = dir.Close() // the one that is open then; nothing was written
		for _, l := range stack {
			w.pending -= len(l.todo)
		}
	}()
	for ctx.Err() == nil {
		at := &stack[len(stack)-1]
		if n := len(at.todo); n > 0 {
			name := at.todo[n-1]
			at.todo = at.todo[:n-1]
			w.pending--
			if len(stack) == w.levels {
				continue
			}
			if sub := enter(dir, name); sub != nil {
				_ = dir.Close() // nothing was written
				dir = sub
				stack = append(stack, w.list(ctx, dir))
			}
			continue
		}
		if stack = stack[:len(stack)-1]; len(stack) == 0 {
			return
		}
		up := enter(dir, "..")
		if up == nil {
			return
		}
		_ = dir.Close() // nothing was written
		dir = up
		var st unix.Statx_t
		if statx(int(dir.Fd()), "", &st) != nil || !w.own(&st) || st.Ino != stack[len(stack)-1].inode {
			return // moved meanwhile
		}
	}
}

// list counts the entries of a directory, and returns the directories among them.
func (w *walker) list(ctx context.Context, dir *os.File) level {
	var st unix.Statx_t
	_ = statx(int(dir.Fd()), "", &st) // without an inode, there is no way back
	out := level{inode: st.Ino}
	for ctx.Err() == nil {
		names, err := dir.Readdirnames(namesAtOnce)
		for _, name := range names {
			if w.one(dir, name) && w.pending < maxPending {
				out.todo = append(out.todo, name)
				w.pending++
			}
		}
		if err != nil || len(names) == 0 {
			break
		}
	}
	return out
}
