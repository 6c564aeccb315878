"""Conversations in which no party sees what another one holds."""
