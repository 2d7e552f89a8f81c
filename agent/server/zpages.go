package server

import (
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"time"
)

const zWarning = "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only."

// statusz responds with what runs here and since when.
//
// Upstream: k8s.io/apiserver/pkg/server/statusz.
func (s *Server) statusz(w http.ResponseWriter, _ *http.Request) {
	up := time.Since(s.began).Truncate(time.Second)
	text(w, fmt.Sprintf("\nkubelet statusz\n%s\n\nStarted: %s\nUp: %d hr %02d min %02d sec\nGo version: %s\nBinary version: %s\n", zWarning,
		s.began.Format(time.UnixDate), int(up.Hours()), int(up.Minutes())%60, int(up.Seconds())%60, runtime.Version(), s.cfg.Version))
}

// flagz responds with the command line's flags.
//
// Upstream: k8s.io/apiserver/pkg/server/flagz.
func (s *Server) flagz(w http.ResponseWriter, _ *http.Request) {
	flags := map[string]string{}
	if s.cfg.Flags != nil {
		flags = s.cfg.Flags()
	}
	var out strings.Builder
	fmt.Fprintf(&out, "\nkubelet flagz\n%s\n\n", zWarning)
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		fmt.Fprintf(&out, "%s=%s\n", name, flags[name])
	}
	text(w, out.String())
}
