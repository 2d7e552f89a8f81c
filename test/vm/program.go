package vm

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// Libraries are what dynamically linked programs of this machine need to run.
func Libraries(ctx context.Context, programs ...string) ([]File, error) {
	var files []File
	for _, p := range programs {
		out, err := exec.CommandContext(ctx, "ldd", p).Output()
		if err != nil {
			return nil, fmt.Errorf("ldd %s: %w", p, err)
		}
		for line := range strings.Lines(string(out)) {
			for field := range strings.FieldsSeq(line) {
				if strings.HasPrefix(field, "/") {
					files = append(files, File{Path: field, From: follow(field), Mode: 0o755})
				}
			}
		}
	}
	return files, nil
}
