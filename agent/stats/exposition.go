package stats

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/trace/human"
)

// exposition is metrics in Prometheus' text format.
type exposition struct{ strings.Builder }

func (e *exposition) family(name, kind, help string) {
	e.WriteString("# HELP " + name + " " + help + "\n# TYPE " + name + " " + kind + "\n")
}

// sample writes one value; labels are names and values by turns. A zero time is left out. Values may come from images and runtimes: the
// text is for machines, but people read it on terminals, so that hidden characters are escaped, as \u202e.
func (e *exposition) sample(name string, v float64, at time.Time, labels ...string) {
	e.WriteString(name)
	for i := 0; i+1 < len(labels); i += 2 {
		e.WriteByte("{,"[min(i, 1)])
		e.WriteString(labels[i] + `="` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(human.Visible(labels[i+1])) + `"`)
	}
	if len(labels) > 0 {
		e.WriteByte('}')
	}
	e.WriteByte(' ')
	e.WriteString(strconv.FormatFloat(v, 'g', -1, 64))
	if !at.IsZero() {
		e.WriteByte(' ')
		e.WriteString(strconv.FormatInt(at.UnixMilli(), 10))
	}
	e.WriteByte('\n')
}

func (e *exposition) answer(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write([]byte(e.String())) // a client that is gone needs no answer
}

func seconds(ns *uint64) float64 { return float64(or0(ns)) / float64(time.Second) }
