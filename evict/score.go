package evict

import (
	"fmt"
	"math/bits"
	"strconv"
)

// The parts of a score, in hundredths of a point: sums of whole numbers are the same on every machine.
const (
	// What was said is worth more than what was looked up, since a result can be fetched again.
	userPoints      = 300
	assistantPoints = 200
	systemPoints    = 150
	toolPoints      = 100
	// recencyPoints is what the newest episode gets; after recencyHalf turns it is half of that, and it never reaches zero.
	recencyPoints = 200
	recencyHalf   = 8
	// degreePoints is for each edge that points to an episode, up to maxDegree edges: more of them say nothing new.
	degreePoints = 40
	maxDegree    = 5
	// sizePoints is taken off for every doubling from sizeUnit tokens on, up to maxSize doublings: what takes more room must be worth more.
	sizePoints = 25
	sizeUnit   = 256
	maxSize    = 8
	// supersededPoints outweighs all that an old episode can have, so that a stale copy goes before what replaced it.
	supersededPoints = 300
	droppablePoints  = 100
)

// noteSuperseded is the note of a corrected episode.
const noteSuperseded = "superseded by a later episode"

// Score returns the value of an episode to the prompt: the lower, the sooner it goes. It is a sum of points for role, recency, edges that point to it,
// size, supersession (−3.0) and droppability, exact to a hundredth. The notes name what moved it, in a fixed order.
func Score(it Item) (value float64, notes []string) {
	s := score(it)
	notes = append(notes, "role "+it.Role, fmt.Sprintf("age %d", max(it.Age, 0)))
	if it.InDegree > 0 {
		notes = append(notes, degreeNote(it.InDegree))
	}
	if n := sizeSteps(it.Tokens); n > 0 {
		notes = append(notes, fmt.Sprintf("%d tokens", it.Tokens))
	}
	if it.Superseded {
		notes = append(notes, noteSuperseded)
	}
	if it.Droppable {
		notes = append(notes, "droppable")
	}
	return float64(s) / 100, notes
}

// score is [Score] in hundredths of a point.
func score(it Item) int {
	s := 0
	switch it.Role {
	case roleUser:
		s = userPoints
	case roleAssistant:
		s = assistantPoints
	case roleSystem:
		s = systemPoints
	default:
		s = toolPoints
	}
	s += recencyPoints * recencyHalf / (recencyHalf + max(it.Age, 0))
	s += degreePoints * min(max(it.InDegree, 0), maxDegree)
	s -= sizePoints * sizeSteps(it.Tokens)
	if it.Superseded {
		s -= supersededPoints
	}
	if it.Droppable {
		s -= droppablePoints
	}
	return s
}

// sizeSteps returns how many doublings a size is above half of sizeUnit.
func sizeSteps(tokens int) int {
	return min(bits.Len(uint(max(tokens, 0)/sizeUnit)), maxSize)
}

func degreeNote(n int) string {
	if n == 1 {
		return "1 episode refers to it"
	}
	return strconv.Itoa(n) + " episodes refer to it"
}

// The value given up, in tokens. One point of value stands for a chance of 1 in chanceOne that the episode is needed again. Then it is fetched, which costs
// its own tokens and a round trip of tripTokens: the call, the frame of the result and the reply around it. So value and prefill are added in one unit.
// What is left of an episode on a rung lowers that chance: lostPercent is what is given up of it.
const (
	chanceOne  = 330
	tripTokens = 256
)

// lostPercent returns how much of an episode's value is gone on a rung, in percent. A masked result still shows its first lines and its outcome,
// a referenced one that it exists.
func lostPercent(t Tier) int64 {
	switch t {
	case Masked:
		return 40
	case Referenced:
		return 70
	case Archived, Dropped:
		return 100
	}
	return 0
}

// lossUnit is the number of units of loss in one token: hundredths of a point × percent × chanceOne.
const lossUnit = 100 * 100 * chanceOne

// loss returns the value given up by taking an item from one rung to another, in units of 1/lossUnit token: that of its score, and that of the names which
// only it keeps in the prompt.
func (p *prompt) loss(i int, from, to Tier) int64 {
	all := int64(p.scores[i]) * (lostPercent(to) - lostPercent(from)) * int64(p.in.Items[i].Tokens+tripTokens)
	return all + int64(p.worth[i])*(lostNames(to)-lostNames(from))*nameTokens*chanceOne
}

// lossTokens converts units of loss to tokens.
func lossTokens(units int64) float64 { return float64(units) / lossUnit }
