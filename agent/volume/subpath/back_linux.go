package subpath

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	// mostLinks is how many links a path may have, as in the kernel.
	mostLinks = 40
	// mostElements is how many elements of a path are looked at, those of the links' targets included: a pod can write long ones.
	mostElements = 1024
)

// back returns where sub leads in the volume if links on its way leave the volume and lead back into it, such as an absolute one in a hostPath
// volume; false if they do not. It reads links in the volume only. A target that depends on links outside of the volume is refused. Others may
// change the links meanwhile: open the result beneath the volume only.
func back(base *os.File, volume, sub string) (string, bool) {
	resolved, err := filepath.EvalSymlinks(volume)
	if err != nil {
		return "", false
	}
	roots := []string{resolved, filepath.Clean(volume)}
	done, todo, links := ".", strings.Split(sub, "/"), 0
	after := len(todo) // the number of elements of sub after the last link
	for looked := 0; len(todo) > 0; looked++ {
		if looked == mostElements {
			return "", false
		}
		target, err := readLink(base, done, todo[0])
		switch {
		case errors.Is(err, unix.EINVAL): // it is no link
			done, todo = path.Join(done, todo[0]), todo[1:]
			after = min(after, len(todo))
			continue
		case errors.Is(err, unix.ENOENT) && len(todo) <= after: // not the link's target is missing, but what is below it
			return path.Join(done, path.Join(todo...)), true
		case err != nil:
			return "", false
		}
		below, ok := inside(roots, done, target)
		if links++; !ok || links > mostLinks {
			return "", false
		}
		after = min(after, len(todo)-1)
		done, todo = ".", slices.Concat(strings.Split(below, "/"), todo[1:])
	}
	return done, true
}

// inside returns where the target of a link in dir of the volume is below the volume; false if that is elsewhere, or if it depends on other links
// on the way. The first root has no links.
func inside(roots []string, dir, target string) (string, bool) {
	up := target
	for strings.HasPrefix(up, "../") {
		up = strings.TrimLeft(up[len("../"):], "/")
	}
	if up != ".." && strings.Contains("/"+up+"/", "/../") {
		return "", false
	}
	if !path.IsAbs(target) {
		roots, target = roots[:1], path.Join(roots[0], dir, target)
	}
	for _, root := range roots {
		if rel, err := filepath.Rel(root, target); err == nil && filepath.IsLocal(rel) {
			return rel, true
		}
	}
	return "", false
}

// readLink returns the target of a link in dir of the volume; EINVAL if it is no link.
func readLink(base *os.File, dir, name string) (string, error) {
	parent, err := openBeneath(base, dir)
	if err != nil {
		return "", err
	}
	defer parent.Close() //nolint:errcheck // nothing was written
	text := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(int(parent.Fd()), name, text)
	if err != nil {
		return "", &os.PathError{Op: "read link", Path: path.Join(dir, name), Err: err}
	}
	return string(text[:n]), nil
}
