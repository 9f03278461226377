package dev.lite.fabric.conformance;

interface WaitingCases extends ConformanceCases {}
