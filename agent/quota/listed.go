package quota

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/kubeloupe/kubeloupe/agent/wholefile"
)

// listedIn returns the ids in files such as /etc/projects (42:/srv/data) and /etc/projid (data:42). A file that does not exist has none.
//
// Manual: projects(5), projid(5).
func listedIn(files []string) (map[uint32]bool, error) {
	out := map[uint32]bool{}
	for _, name := range files {
		text, err := wholefile.Read(name, wholefile.Large)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the ids of projects: %w", err)
		}
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "#") {
				continue
			}
			// Paths and names are no numbers that matter: one more id is left out.
			for field := range strings.SplitSeq(strings.TrimSpace(line), ":") {
				if id, err := strconv.ParseUint(field, 10, 32); err == nil {
					out[uint32(id)] = true
				}
			}
		}
	}
	return out, nil
}
