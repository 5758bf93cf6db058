// How what a search finds is ordered: the glossary first. The other numbers are Sphinx's own, which it wants all or none.
var Scorer = {
  score: ([page, title, anchor, text, score]) => score + (page === "docs/glossary" ? 100 : 0),
  objNameMatch: 11, objPartialMatch: 6, objPrio: { 0: 15, 1: 5, 2: -5 }, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
};
