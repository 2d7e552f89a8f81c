package model

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// Described is the last description of the node.
type Described struct {
	trace.NodeDescribed
	At time.Time // zero: not published yet
}

// Handlers is the last description of the container runtime.
type Handlers struct {
	trace.RuntimeDescribed
	At time.Time // zero: not published yet
}

// Certificate is the last event about one of the agent's certificates.
type Certificate struct {
	trace.Certificate
	At  time.Time
	Seq uint64 // its record's number
}

// Certificates returns the agent's certificates by their use, client first.
func (m *Model) Certificates() []Certificate {
	out := make([]Certificate, 0, len(m.certificates))
	for _, c := range m.certificates {
		out = append(out, c)
	}
	sorting.Stable(out, func(a, b *Certificate) int { return cmp.Compare(a.Use, b.Use) })
	return out
}

func (m *Model) applyCertificate(r *trace.Record, e *trace.Certificate) {
	if _, known := m.certificates[e.Use]; known || len(m.certificates) < maxSignals {
		m.certificates[e.Use] = Certificate{Certificate: *e, At: r.At(), Seq: r.Seq}
	}
}

// units are the suffixes of quantities in bytes.
var units = map[string]int64{"": 1, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}

// Amount formats a resource quantity for people: as a size if it is in bytes, otherwise unchanged.
func Amount(resource, quantity string) string {
	if resource != "memory" && resource != "ephemeral-storage" && !strings.HasPrefix(resource, "hugepages-") {
		return quantity
	}
	digits := strings.TrimRight(quantity, "KMGTik")
	n, err := strconv.ParseInt(digits, 10, 64)
	unit, known := units[quantity[len(digits):]]
	if err != nil || !known || n < 0 || n > (1<<62)/unit {
		return quantity
	}
	return bytesText(n * unit)
}

// bytesText has a decimal where human.Bytes has none: system reservations are often a small part of the total.
func bytesText(n int64) string {
	for _, u := range []string{"Ti", "Gi", "Mi"} {
		if v := float64(n) / float64(units[u]); v >= 0.95 && v < 99.95 {
			return fmt.Sprintf("%.1f %sB", v, u)
		}
	}
	return human.Bytes(n)
}

// Who lists the handlers for which can is true: all, none, or their names.
func (h *Handlers) Who(can func(trace.RuntimeHandler) bool) string {
	var names []string
	for _, one := range h.Handlers {
		if can(one) {
			names = append(names, HandlerName(one.Name))
		}
	}
	switch len(names) {
	case 0:
		return "none"
	case len(h.Handlers):
		return "all"
	}
	return strings.Join(names, ", ")
}

// HandlerName returns a handler's name, or "(default)".
func HandlerName(name string) string { return cmp.Or(name, "(default)") }

// From returns the source of a certificate in words.
func (c *Certificate) From() string {
	sources := map[trace.CertificateSource]string{
		trace.CertificateCSR: "signed through the API server", trace.CertificateKubeconfig: "the kubeconfig's own",
		trace.CertificateSelfSigned: "self-signed", trace.CertificateFile: "configured files",
	}
	from := cmp.Or(sources[c.Source], string(c.Source))
	if c.Path != "" {
		from += ", in " + c.Path
	}
	return strings.TrimPrefix(from, ", ")
}
