package trace

import (
	"fmt"
	"slices"
	"unsafe"
)

// MaxEvent is the maximum size of a published event in memory, in bytes, without its bodies; MaxBody is the maximum
// size of each of those. Everything that is published or parsed is cut to that: texts by Clip, lists by omitting items,
// whose number is kept.
const (
	MaxEvent = 128 << 10
	MaxBody  = 32 << 10
)

// The limits of texts: a word (a name, an ID, a state), a line (a path, an image, a reason) or a text (a message, an
// error). A list may have maxList bytes: if its items need more, their texts are cut more, and items that still do not
// fit are omitted.
const (
	maxWord, tightWord = 512, 128
	maxLine, tightLine = 1 << 10, 256
	maxText, tightText = 4 << 10, 256
	maxList, tightList = 40 << 10, 2 << 10
)

// limiter visits the texts and lists of an event, and returns how many bytes they need in memory.
type limiter uint8

const (
	look  limiter = iota // changes nothing; a text over its limit counts as tooMuch
	guess                // changes nothing; returns the result of cut
	cut                  // cuts what exceeds its limit
	tight                // the same in a list that is too large
)

// tooMuch is more than any event may have.
const tooMuch = 1 << 30

// limited is a pointer to something that has texts and lists. Others may use what it references, so that is copied, not
// changed.
type limited[T any] interface {
	*T
	limit(limiter) int
}

func word[S ~string](l limiter, s *S) int {
	if len(*s) <= tightWord {
		return len(*s)
	}
	return shorten(l, s, maxWord, tightWord)
}

func line[S ~string](l limiter, s *S) int {
	if len(*s) <= tightLine {
		return len(*s)
	}
	return shorten(l, s, maxLine, tightLine)
}

func text[S ~string](l limiter, s *S) int {
	if len(*s) <= tightText {
		return len(*s)
	}
	return shorten(l, s, maxText, tightText)
}

func shorten[S ~string](l limiter, s *S, most, less int) int {
	if l == tight {
		most = less
	}
	switch {
	case len(*s) <= most:
	case l == look:
		return tooMuch
	case l == guess:
		return most
	default:
		*s = S(Clip(string(*s), most))
	}
	return len(*s)
}

// part limits what p points to; nil has size 0.
func part[T any, P limited[T]](l limiter, p **T) int {
	if *p == nil {
		return 0
	}
	n := P(*p).limit(min(l, guess))
	if l == tight || l == cut && P(*p).limit(look) >= tooMuch {
		own := **p
		*p, n = &own, P(&own).limit(l)
	}
	return n + int(unsafe.Sizeof(**p))
}

// list limits a list, and adds the number of omitted items to left.
func list[T any, P limited[T]](l limiter, s *[]T, left *int) int {
	return listOf[T, P](l, s, left, maxList)
}

// listOf is list for one that may have most bytes.
func listOf[T any, P limited[T]](l limiter, s *[]T, left *int, most int) int {
	if cap(*s) == 0 {
		return 0
	}
	if l == tight {
		most = tightList
	}
	n := listSize[T, P](look, *s, cap(*s))
	switch {
	case n <= most:
		return n
	case l == look:
		return tooMuch
	case l == guess:
		return min(listSize[T, P](guess, *s, len(*s)), most)
	case l == cut && listSize[T, P](guess, *s, len(*s)) > most:
		l = tight
	}
	whole := len(*s)
	*s, n = shortList[T, P](l, *s, most)
	*left += whole - len(*s)
	return n
}

// listSize returns the size of a list with capacity room, and stops when it is too large.
func listSize[T any, P limited[T]](l limiter, s []T, room int) int {
	var item T
	n := room * int(unsafe.Sizeof(item))
	for i := 0; i < len(s) && n <= maxList; i++ {
		n += P(&s[i]).limit(l)
	}
	return n
}

// shortList copies at most most items.
func shortList[T any, P limited[T]](l limiter, from []T, most int) (kept []T, size int) {
	var item T
	each := int(unsafe.Sizeof(item))
	kept = slices.Clone(from[:min(len(from), most/each)])
	for i := range kept {
		n := each + P(&kept[i]).limit(l)
		if size+n > most {
			return slices.Clip(slices.Clone(kept[:i])), size
		}
		size += n
	}
	return slices.Clip(kept), size
}

// textList limits a list of texts. The last one of a shortened list has the original number.
func textList(l limiter, s *[]string) int {
	n := cap(*s) * int(unsafe.Sizeof(""))
	for i := 0; i < len(*s) && n <= maxList; i++ {
		n += text(look, &(*s)[i])
	}
	most := maxList
	if l == tight {
		most = tightList
	}
	switch {
	case n <= most:
		return n
	case l == look:
		return tooMuch
	case l == guess:
		return most
	}
	*s, n = shortTextList(*s, most)
	return n
}

func shortTextList(from []string, most int) (kept []string, size int) {
	const each = int(unsafe.Sizeof(""))
	size = each + maxMark
	for _, t := range from {
		n := each + text(tight, &t)
		if size+n > most {
			kept = append(kept, fmt.Sprintf("…[clipped: %d items]", len(from)))
			break
		}
		kept = append(kept, t)
		size += n
	}
	return slices.Clip(slices.Clone(kept)), size
}

// Size returns the record's approximate size in memory, in bytes, with everything that it references.
func (r *Record) Size() int {
	n := int(unsafe.Sizeof(*r)) + r.Pod.limit(guess)
	if r.Event != nil {
		n += kinds[r.Event.Kind()].limit(r.Event, guess)
	}
	return n
}

// Shorten cuts the texts and lists of a record's event to their beginnings. The event must not be shared. It is for
// readers that keep many records and have no more room for long ones.
func (r *Record) Shorten() {
	if r.Event != nil {
		k := kinds[r.Event.Kind()]
		r.Event = k.clone(r.Event)
		k.limit(r.Event, tight)
	}
}

// limit implements limited.
func (p *Pod) limit(l limiter) int { return word(l, &p.Namespace) + word(l, &p.Name) + word(l, &p.UID) }

// limit implements limited.
func (e *KV) limit(l limiter) int { return word(l, &e.K) + text(l, &e.V) }
