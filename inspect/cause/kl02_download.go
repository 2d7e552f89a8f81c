package cause

import (
	"fmt"
	"time"

	"github.com/kubeloupe/kubeloupe/trace/human"
)

// slowDownload is the rate in bytes per second above which a long download is a large image, not a slow network;
// leastPart is how long a part of a pull takes at least to be spoken of.
const (
	slowDownload = 64 << 20
	leastPart    = 500 * time.Millisecond
	// stalledFor is how long no byte arrives of a transfer that stalls.
	stalledFor = 5 * time.Second
)

func slowNetwork() Rule {
	return Rule{
		ID: "KL02", Name: "slow network in a pull",
		About: "The layers of an image took long to arrive: at least 500ms of the critical path at less than 64 MiB/s, from when the first layer was " +
			"requested. A transfer that stalls counts until now; the time before the first layer is KL37's. Containerd's spans show when the last layer was there, else its events or its content store do; without any of them, the rule reports nothing.",
		Find: findSlowNetwork,
	}
}

func findSlowNetwork(c *Case) (out []Finding) {
	for _, p := range c.pullParts() {
		if p.loaded.IsZero() {
			continue
		}
		from := p.arriving()
		dur := p.arrived().Sub(from)
		cost, going := c.cost(p.pull.ID(), from, p.arrived()), p.pull.Open && p.complete.IsZero() && c.stuck()
		if going {
			cost = max(cost, dur)
		}
		if dur < c.longPart() || cost < leastPart || !c.speaks(cost, going) || float64(p.bytes)/dur.Seconds() >= slowDownload {
			continue
		}
		arrived := "took " + human.Duration(dur) + " to arrive"
		if going {
			arrived = "arrived in " + human.Duration(dur) + " so far"
			if still := p.arrived().Sub(p.loaded); still >= stalledFor {
				arrived += ", and nothing more for " + human.Duration(still)
			}
		}
		size := "the layers"
		if p.bytes > 0 {
			size = human.Bytes(p.bytes)
			arrived += ", " + human.Rate(p.bytes, dur)
		}
		out = append(out, Finding{
			Confidence: p.confidence, Cost: cost, Current: going,
			Sentence:   fmt.Sprintf("%s of the image %s %s", size, human.Image(p.pull.Event.Image), arrived),
			Evidence:   append(p.evidence, evidence(p.pull.Rec(), "pull of %s: %s", human.Image(p.pull.Event.Image), took(p.pull.Dur(), p.pull.Open))),
			Remedy:     "Bring the image nearer (a mirror or cache in the node's network), make it smaller, or have it on the node before pods need it.",
			RuledOutBy: "A download of the same blob with curl on the node is several times faster: then the registry was slow at that time, or limits each connection.",
		})
	}
	return out
}
