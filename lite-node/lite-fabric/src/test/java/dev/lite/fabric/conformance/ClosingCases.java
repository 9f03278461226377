package dev.lite.fabric.conformance;

interface ClosingCases extends ConformanceCases {}
