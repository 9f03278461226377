package dev.lite.bench;
