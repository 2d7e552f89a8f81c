package script

import (
	"fmt"
	"io"

	"mvdan.cc/sh/v3/syntax"
)

// redirect connects the outputs to their targets; ok is false if one is not possible. Input redirections are empty.
func (sh *shell) redirect(all []*syntax.Redirect) (ok bool, err error) {
	for _, r := range all {
		if r.Op == syntax.RdrIn || r.Op == syntax.DplIn {
			continue
		}
		target, err := sh.literal(r.Word)
		if err != nil {
			return false, sh.failed(err)
		}
		w, err := sh.open(r.Op, target)
		if err != nil {
			return false, sh.failed(fmt.Errorf("can't create %s: %w", target, err))
		}
		if r.N != nil && r.N.Value == "2" {
			sh.err = w
		} else {
			sh.out = w
		}
	}
	return true, nil
}

func (sh *shell) open(op syntax.RedirOperator, target string) (io.Writer, error) {
	if op == syntax.DplOut {
		target = "&" + target
	}
	switch target {
	case "&1", "/dev/stdout", "/proc/1/fd/1":
		return sh.out, nil
	case "&2", "/dev/stderr", "/proc/1/fd/2":
		return sh.err, nil
	case "&-", "/dev/null":
		return io.Discard, nil
	}
	if op != syntax.AppOut {
		if err := sh.p.cfg.Files.write(target, nil, false); err != nil {
			return nil, err
		}
	}
	return fileWriter{sh.p.cfg.Files, target}, nil
}

type fileWriter struct {
	files *Files
	name  string
}

func (w fileWriter) Write(b []byte) (int, error) {
	return len(b), w.files.write(w.name, b, true)
}
