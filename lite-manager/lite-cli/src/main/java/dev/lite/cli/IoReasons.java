package dev.lite.cli;

import java.io.IOException;
import java.net.ConnectException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;

/** Reasons of failed input and output for people, without class names. */
final class IoReasons {
    private IoReasons() {}

    static String of(IOException e) {
        String message = e.getMessage();
        return switch (e) {
            case NoSuchFileException none -> "there is no such file";
            case AccessDeniedException denied -> "permission denied";
            case ConnectException refused -> message == null ? "the connection was refused" : message;
            case FileSystemException failure ->
                failure.getReason() == null ? failure.getClass().getSimpleName() : failure.getReason();
            default -> message == null ? e.getClass().getSimpleName() : message;
        };
    }
}
