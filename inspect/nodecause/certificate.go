package nodecause

import (
	"fmt"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

const (
	// renewLate is how long after the planned time a renewal is overdue.
	renewLate = 10 * time.Minute
	// endsSoon is how long before its end a certificate is reported that nobody renews.
	endsSoon = 7 * 24 * time.Hour
	// noneFor is how long a node that joins may be without a certificate.
	noneFor = 30 * time.Second
)

func certificate() Rule {
	return Rule{
		ID: "KN04", Name: "certificate",
		About: "A certificate of the agent has expired, or its renewal is overdue by 10 minutes or more, or it ends within 7 days and is not renewed by the " +
			"agent, or the agent has waited for one for 30 s, or could not request it. Without a valid client certificate the API server refuses all requests; without a serving " +
			"certificate kubectl logs and exec fail.",
		find: findCertificate,
	}
}

func findCertificate(in *Input, _ []cause.Finding) (out []cause.Finding) {
	certs := in.Model.Certificates()
	for i := range certs {
		if f := wrongWith(in, &certs[i]); f != nil {
			out = append(out, *f)
		}
	}
	return out
}

// wrongWith is what is wrong with one certificate; nil if nothing is.
func wrongWith(in *Input, c *model.Certificate) *cause.Finding {
	f := &cause.Finding{Confidence: cause.Certain, Current: true}
	f.RuledOutBy = fmt.Sprintf("openssl x509 -noout -dates -in FILE shows that the %s certificate is valid for longer, and the node's clock is right (date).", c.Use)
	left := c.NotAfter.Sub(in.Now)
	switch {
	case c.None != "":
		why, failed := Awaits(in.Model, c)
		if f.Cost = in.Now.Sub(c.At); !c.Awaited || f.Cost < noneFor && !failed {
			return nil
		}
		f.Sentence = fmt.Sprintf("the agent has had no %s certificate for %s: %s", c.Use, human.Duration(f.Cost), human.Line(why))
		f.Evidence = shown(c.Seq, c.At, "no %s certificate: %s", c.Use, human.Line(c.None))
		if failed {
			f.Remedy, f.RuledOutBy = "Correct what the last attempt failed for: the agent tries again by itself.", "kubectl get csr shows a request of this node that is younger than this."
			break
		}
		f.Remedy, f.RuledOutBy = "kubectl get csr shows the node's requests; kubectl certificate approve NAME approves one.", "kubectl get csr has no pending request of this node, and kubectl logs works for its pods."
	case left <= 0:
		f.Cost = -left
		f.Sentence = fmt.Sprintf("the %s certificate expired %s ago", c.Use, human.Duration(f.Cost))
		f.Evidence = validity(c)
		f.Remedy = renewal(c)
	case in.Now.Before(c.NotBefore):
		f.Cost = c.NotBefore.Sub(in.Now)
		f.Sentence = fmt.Sprintf("the %s certificate is not valid before %s: the node's clock is probably behind", c.Use, day(c.NotBefore))
		f.Evidence = validity(c)
		f.Remedy = "Set the node's clock (timedatectl, chronyc tracking)."
	case !c.Renew.IsZero() && in.Now.Sub(c.Renew) > renewLate:
		f.Cost = in.Now.Sub(c.Renew)
		f.Sentence = fmt.Sprintf("the renewal of the %s certificate is overdue by %s, and it expires in %s", c.Use, human.Duration(f.Cost), human.Duration(left))
		f.Evidence = validity(c)
		f.Remedy = renewal(c)
	case c.Renew.IsZero() && left < endsSoon && c.Source != trace.CertificateSelfSigned:
		f.Sentence = fmt.Sprintf("the %s certificate expires in %s, and the agent does not renew it", c.Use, human.Duration(left))
		f.Evidence, f.Confidence = validity(c), cause.Likely
		f.Remedy = "Renew it where it comes from, or let the agent rotate its certificates (rotateCertificates, serverTLSBootstrap)."
	default:
		return nil
	}
	return f
}

// Awaits is why a certificate that is awaited is not there: what the last attempt failed for, or what the agent says of it.
func Awaits(m *model.Model, c *model.Certificate) (why string, failed bool) {
	waits := m.API().Waits
	for i := range waits {
		if w := &waits[i]; w.For == trace.WaitBackoff && w.Target.Kind == trace.TargetCertificate && w.Target.Name == string(c.Use) && w.Cause != "" {
			return w.Cause, true
		}
	}
	return c.None, false
}

// validity is a certificate as evidence.
func validity(c *model.Certificate) []cause.Evidence {
	text := fmt.Sprintf("%s certificate of %s, valid until %s", c.Use, c.Name, day(c.NotAfter))
	if !c.Renew.IsZero() {
		text += ", to be renewed from " + day(c.Renew)
	}
	return shown(c.Seq, c.At, "%s; %s", text, c.From())
}

// renewal is what to do about a renewal that did not happen.
func renewal(c *model.Certificate) string {
	if c.Renew.IsZero() {
		return "Renew it where it comes from: " + c.From() + ". With rotateCertificates and serverTLSBootstrap the agent renews its certificates itself."
	}
	return "kubectl get csr shows whether the agent's request is pending (kubectl certificate approve NAME), denied, or missing: then the signer or the API server fails. A client certificate that has expired needs a new bootstrap token."
}

func day(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 MST") }
