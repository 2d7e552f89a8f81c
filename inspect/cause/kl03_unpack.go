package cause

import (
	"fmt"

	"github.com/kubeloupe/kubeloupe/trace/human"
)

// slowUnpack is the rate in compressed bytes per second above which unpacking is as fast as can be expected.
const slowUnpack = 64 << 20

func slowUnpacking() Rule {
	return Rule{
		ID: "KL03", Name: "slow unpack in a pull",
		About: "All layers of an image had arrived and the pull continued: the runtime unpacked them to disk. It is reported from 500ms of the " +
			"critical path on, where that is less than 64 MiB/s of what was downloaded; without a record of the last layer's arrival it reports nothing.",
		Find: findSlowUnpack,
	}
}

func findSlowUnpack(c *Case) (out []Finding) {
	for _, p := range c.pullParts() {
		if p.complete.IsZero() {
			continue
		}
		dur := p.pull.Stop.Sub(p.complete)
		cost, going := c.cost(p.pull.ID(), p.complete, p.pull.Stop), p.pull.Open && c.stuck()
		if going {
			cost = max(cost, dur)
		}
		if dur < c.longPart() || cost < leastPart || !c.speaks(cost, going) || float64(p.bytes)/dur.Seconds() >= slowUnpack {
			continue
		}
		size := "the layers"
		if p.bytes > 0 {
			size = human.Bytes(p.bytes)
		}
		out = append(out, Finding{
			Confidence: p.confidence, Cost: cost, Current: going,
			Sentence:   fmt.Sprintf("unpacking %s of the image %s took %s after they had arrived", size, human.Image(p.pull.Event.Image), took(dur, going)),
			Evidence:   append(p.evidence, evidence(p.pull.Rec(), "pull of %s: %s", human.Image(p.pull.Event.Image), took(p.pull.Dur(), p.pull.Open))),
			Remedy:     "Look at the disk under the runtime's root (iostat, its class, other writers) and at the processors (gzip runs on one per layer); fewer and smaller layers, zstd, or a lazy snapshotter help.",
			RuledOutBy: "The disk was idle and the processors too while it unpacked: then the runtime waited for something else after the last layer.",
		})
	}
	return out
}
