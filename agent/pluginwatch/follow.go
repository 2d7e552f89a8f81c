package pluginwatch

import (
	"io/fs"
	"os"
	"time"
)

// The bounds of what symbolic links cost: the time that one scan waits for the targets of all of them, and the lookups that may hang.
const (
	patience = time.Second
	hanging  = 64
)

// follower looks up the targets of symbolic links. A target may be on a file system that does not answer: its lookup keeps a goroutine and a
// thread until the kernel answers, and is not repeated meanwhile. Only the loop uses it.
type follower struct {
	stat  func(path string) (fs.FileInfo, error) // os.Stat
	asked map[string]chan answer
}

type answer struct {
	target file
	socket bool
}

func newFollower() *follower {
	return &follower{stat: os.Stat, asked: map[string]chan answer{}}
}

// follow looks up the target of the link at path. It returns false if there is no answer before late closes. A link that hung before is not
// waited for.
func (f *follower) follow(path string, late <-chan struct{}) (answer, bool) {
	asked := f.asked[path]
	if asked == nil {
		if len(f.asked) >= hanging {
			return answer{}, false
		}
		asked = f.ask(path)
		select {
		case a := <-asked:
			return a, true
		case <-late:
			f.asked[path] = asked
		}
	}
	select {
	case a := <-asked:
		delete(f.asked, path)
		return a, true
	default:
		return answer{}, false
	}
}

func (f *follower) ask(path string) chan answer {
	asked := make(chan answer, 1)
	go func() {
		info, err := f.stat(path)
		if err != nil || info.Mode()&fs.ModeSocket == 0 {
			asked <- answer{}
			return
		}
		asked <- answer{target: fileOf(info), socket: true}
	}()
	return asked
}
