package server

import (
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const zWarning = "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only."

// component is upstream's name of what is served here.
const component = "kubelet"

// zHead is the beginning of each object.
type zHead struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
}

// statuszObject is upstream's Statusz of config.k8s.io.
//
// Upstream: k8s.io/apiserver/pkg/server/statusz/api/v1beta1/types.go.
type statuszObject struct {
	zHead
	StartTime        metav1.Time `json:"startTime"`
	UptimeSeconds    int64       `json:"uptimeSeconds"`
	GoVersion        string      `json:"goVersion"`
	BinaryVersion    string      `json:"binaryVersion"`
	EmulationVersion string      `json:"emulationVersion,omitempty"`
	Paths            []string    `json:"paths"`
}

// flagzObject is upstream's Flagz of config.k8s.io.
//
// Upstream: k8s.io/apiserver/pkg/server/flagz/api/v1beta1/types.go.
type flagzObject struct {
	zHead
	Flags map[string]string `json:"flags,omitempty"`
}

// statusz responds with what runs here and since when.
//
// Upstream: k8s.io/apiserver/pkg/server/statusz.
func (s *Server) statusz(paths []string) http.HandlerFunc {
	full, emulated := versions(s.cfg.Version)
	return func(w http.ResponseWriter, r *http.Request) {
		up := time.Since(s.began).Truncate(time.Second)
		zpage(w, r, "Statusz", func(head zHead) any {
			return &statuszObject{zHead: head, StartTime: metav1.NewTime(s.began), UptimeSeconds: int64(up.Seconds()), GoVersion: runtime.Version(), BinaryVersion: full, EmulationVersion: emulated, Paths: paths}
		}, func() string {
			return fmt.Sprintf("\nStarted: %s\nUp: %d hr %02d min %02d sec\nGo version: %s\nBinary version: %s\nEmulation version: %s\nPaths: %s\n",
				s.began.Format(time.UnixDate), int(up.Hours()), int(up.Minutes())%60, int(up.Seconds())%60, runtime.Version(), full, emulated, strings.Join(paths, " "))
		})
	}
}

// versions are a version's number, and its first two parts.
func versions(v string) (full, emulated string) {
	full, _, _ = strings.Cut(strings.TrimPrefix(v, "v"), "-")
	full, _, _ = strings.Cut(full, "+")
	parts := strings.SplitN(full, ".", 3)
	return full, strings.Join(parts[:min(2, len(parts))], ".")
}

// flagz responds with the command line's flags.
//
// Upstream: k8s.io/apiserver/pkg/server/flagz.
func (s *Server) flagz(w http.ResponseWriter, r *http.Request) {
	flags := map[string]string{}
	if s.cfg.Flags != nil {
		flags = s.cfg.Flags()
	}
	zpage(w, r, "Flagz", func(head zHead) any { return &flagzObject{zHead: head, Flags: flags} }, func() string {
		var out strings.Builder
		for _, name := range slices.Sorted(maps.Keys(flags)) {
			fmt.Fprintf(&out, "%s=%s\n", name, flags[name])
		}
		return out.String()
	})
}

// zpage responds in the form that the client accepts: as text, or as an object in JSON or YAML if the client names its kind.
func zpage(w http.ResponseWriter, r *http.Request, kind string, object func(zHead) any, words func() string) {
	form, version, ok := zForm(r.Header.Get("Accept"), kind)
	switch {
	case !ok:
		notAcceptable(w)
	case form == "text/plain":
		text(w, fmt.Sprintf("\n%s %s\n%s\n%s", component, strings.ToLower(kind), zWarning, words()))
	default:
		if version == "v1alpha1" {
			w.Header().Set("Warning", `299 - "This version of the `+strings.ToLower(kind)+` endpoint is deprecated. Please use a newer version."`)
		}
		encode(w, form, http.StatusOK, object(zHead{
			metav1.TypeMeta{Kind: kind, APIVersion: zGroup + "/" + version}, metav1.ObjectMeta{Name: component},
		}))
	}
}

const zGroup = "config.k8s.io"

// zForms are the media types of z-pages, in the order in which a client that accepts several gets them.
func zForms() []string { return []string{"application/json", "application/yaml", "text/plain"} }

// installZPages serves the z-pages whose feature gates are on.
//
// Upstream: pkg/kubelet/server/server.go, InstallZPages.
func (s *Server) installZPages(mux *http.ServeMux) {
	if s.cfg.Debug.Flagz {
		mux.HandleFunc("/flagz", s.flagz)
	}
	if s.cfg.Debug.Statusz {
		mux.HandleFunc("/statusz", s.statusz(statuszPaths(s.cfg.Debug.Flagz)))
	}
}

// statuszPaths are the paths that upstream's page names: those that are neither of pods nor of statistics. /flagz is one of them if it is served.
func statuszPaths(flagz bool) []string {
	if !flagz {
		return []string{"/configz", "/debug", "/healthz", "/metrics"}
	}
	return []string{"/configz", "/debug", "/flagz", "/healthz", "/metrics"}
}

// notAcceptable responds as upstream's API machinery does.
func notAcceptable(w http.ResponseWriter) {
	encode(w, "application/json", http.StatusNotAcceptable, &metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: http.StatusNotAcceptable,
		Reason: metav1.StatusReasonNotAcceptable, Message: "only the following media types are accepted: " + strings.Join(zForms(), ", "),
	})
}

// zForm chooses the media type and, of an object, the version. An object must be named by as, g and v, and text must not.
//
// Upstream: k8s.io/apiserver/pkg/endpoints/handlers/negotiation/negotiate.go, k8s.io/apiserver/pkg/server/statusz/negotiate.
func zForm(accept, kind string) (form, version string, ok bool) {
	if strings.TrimSpace(accept) == "" {
		return "text/plain", "", true
	}
	for _, c := range accepted(accept) {
		named := c.params["as"] != "" || c.params["g"] != "" || c.params["v"] != ""
		known := c.params["as"] == kind && c.params["g"] == zGroup && slices.Contains([]string{"v1alpha1", "v1beta1"}, c.params["v"])
		for _, form := range zForms() {
			if c.matches(form) && (form == "text/plain" && !named || form != "text/plain" && known) {
				return form, c.params["v"], true
			}
		}
	}
	return "", "", false
}
