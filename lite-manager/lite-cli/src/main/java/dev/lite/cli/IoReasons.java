package dev.lite.cli;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.NoSuchFileException;

/** Reasons of failed input and output for people, without class names. */
final class IoReasons {
    private IoReasons() {}

    static String of(IOException e) {
        String message = e.getMessage();
        return switch (e) {
            case NoSuchFileException none -> "there is no such file";
            case AccessDeniedException denied -> "permission denied";
            default -> message == null ? e.getClass().getSimpleName() : message;
        };
    }
}
