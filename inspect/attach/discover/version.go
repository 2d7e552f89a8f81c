package discover

import (
	"io"
	"regexp"
	"strings"
)

var (
	linkedVersion = regexp.MustCompile(`k8s\.io/component-base/version\.gitVersion=(v[0-9][-+.0-9a-zA-Z]{0,60})`)
	containerdOf  = regexp.MustCompile(`github\.com/containerd/containerd(?:/v2)?/version\.Version=(v?[0-9][-+.~0-9a-zA-Z]{0,60})`)
)

// versionOf is the version of a program, by what Go's linker noted in its file; "" where that is not noted, as in programs built with
// -trimpath. The program is one of root's.
func versionOf(v View, p *Process) string {
	f, err := v.Open(procFile(p.PID, "exe"))
	if err != nil {
		return ""
	}
	defer f.Close() //nolint:errcheck // it was only read
	at, ok := f.(io.ReaderAt)
	if !ok {
		return ""
	}
	info, err := buildInfo(at)
	if err != nil {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key != "-ldflags" {
			continue
		}
		for _, re := range []*regexp.Regexp{linkedVersion, containerdOf} {
			if m := re.FindStringSubmatch(s.Value); m != nil {
				return "v" + strings.TrimPrefix(m[1], "v")
			}
		}
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path != "k8s.io/kubernetes" && m.Path != "github.com/containerd/containerd" && m.Path != "github.com/containerd/containerd/v2" {
			continue
		}
		if m.Replace != nil {
			m = m.Replace
		}
		if strings.HasPrefix(m.Version, "v") && (m.Path == info.Main.Path || strings.Contains(m.Path, "kubernetes")) {
			return m.Version
		}
	}
	return ""
}
