package numa

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// node reads a node's memory and distances. What the kernel does not tell is zero.
func (s sys) node(id int) (Node, error) {
	n := Node{ID: id}
	dir := fmt.Sprintf("node/node%d/", id)
	info, err := s.text(dir + "meminfo")
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return n, err
	default:
		if n.Memory, err = memTotal(info); err != nil {
			return n, err
		}
	}
	if n.HugePages, err = s.hugePages(dir + "hugepages"); err != nil {
		return n, err
	}
	text, err := s.text(dir + "distance")
	if errors.Is(err, fs.ErrNotExist) {
		return n, nil
	}
	for f := range strings.FieldsSeq(text) {
		d, err := strconv.ParseUint(f, 10, 64)
		if err != nil {
			return n, fmt.Errorf("distance: %w", err)
		}
		n.Distances = append(n.Distances, d)
	}
	return n, err
}

// memTotal parses a line such as "Node 0 MemTotal: 16318896 kB".
func memTotal(info string) (uint64, error) {
	for line := range strings.Lines(info) {
		if f := strings.Fields(line); len(f) >= 4 && f[2] == "MemTotal:" {
			kib, err := strconv.ParseUint(f[3], 10, 54)
			if err != nil {
				return 0, fmt.Errorf("meminfo: %w", err)
			}
			return kib << 10, nil
		}
	}
	return 0, errors.New("meminfo: has no MemTotal")
}

// hugePages reads the reserved huge pages of a node.
func (s sys) hugePages(dir string) ([]HugePages, error) {
	entries, err := os.ReadDir(filepath.Join(string(s), dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []HugePages
	for _, e := range entries {
		size, ok := strings.CutPrefix(e.Name(), "hugepages-")
		kib, err := strconv.ParseUint(strings.TrimSuffix(size, "kB"), 10, 54)
		if !ok || err != nil {
			continue
		}
		n, err := s.number(filepath.Join(dir, e.Name(), "nr_hugepages"))
		if err == nil && n < 0 {
			err = fmt.Errorf("%d is no number of pages", n)
		}
		if err != nil {
			return nil, fmt.Errorf("huge pages %s: %w", e.Name(), err)
		}
		out = append(out, HugePages{Size: kib << 10, Total: kib << 10 * uint64(n)})
	}
	sorting.Stable(out, func(a, b *HugePages) int { return cmp.Compare(a.Size, b.Size) })
	return out, nil
}
